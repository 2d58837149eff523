"""Threads that run ahead: order, errors, and that nothing of them is left."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest

from flows.ingest_pipeline import texts_written
from flows.run_ahead import run_ahead
from tests.warehouse.rows import text
from warehouse.connection import open_warehouse
from warehouse.errors import RowsRefusedError


class _Counted:
    """Numbers from 0, and the threads in which their generator began and was closed."""

    def __init__(self, *, fails_at: int | None = None) -> None:
        self.began_in: int | None = None
        self.closed_in: int | None = None
        self._fails_at = fails_at

    def numbers(self) -> Generator[int, None, None]:
        yield from self.passed_on(iter(range(1000)))

    def passed_on(self, numbers: Iterator[int]) -> Generator[int, None, None]:
        self.began_in = threading.get_ident()
        try:
            for number in numbers:
                if number == self._fails_at:
                    raise ValueError("line 3 is bad")
                yield number
        finally:
            self.closed_in = threading.get_ident()


def is_running(*names: str) -> bool:
    return bool({thread.name for thread in threading.enumerate()} & set(names))


def test_items_come_in_order_and_the_thread_ends() -> None:
    counted = _Counted()
    with run_ahead(counted.numbers(), "count") as numbers:
        assert list(numbers) == list(range(1000))
    assert counted.began_in == counted.closed_in != threading.get_ident()
    assert not is_running("count")


def test_an_error_comes_after_the_items_before_it() -> None:
    found: list[int] = []
    with (
        run_ahead(_Counted(fails_at=2).numbers(), "count") as numbers,
        pytest.raises(ValueError, match="line 3"),
    ):
        found.extend(numbers)
    assert found == [0, 1]


def test_leaving_early_closes_every_stage_in_the_thread_that_ran_it() -> None:
    first, second = _Counted(), _Counted()
    with (
        run_ahead(first.numbers(), "first") as numbers,
        run_ahead(second.passed_on(numbers), "second") as passed,
    ):
        assert next(passed) == 0
    assert first.began_in == first.closed_in
    assert second.began_in == second.closed_in
    assert len({first.began_in, second.began_in, threading.get_ident()}) == 3
    assert not is_running("first", "second")


@dataclass(frozen=True)
class _Batch:
    texts: pa.Table


def batches(*rows: dict[str, object]) -> Generator[_Batch, None, None]:
    for row in rows:
        yield _Batch(pa.Table.from_pylist([row]))


@pytest.fixture
def connection(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_warehouse(tmp_path / "work.duckdb") as opened:
        yield opened


def test_a_batch_comes_once_its_texts_are_in_the_warehouse(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    rows = [text(str(number), "word") for number in range(20)]
    with texts_written(connection, batches(*rows)) as written:
        for batch in written:
            (text_id,) = batch.texts.column("text_id").to_pylist()
            question = "select count(*) from raw.texts where text_id = $text_id"
            assert connection.execute(question, {"text_id": text_id}).fetchone() == (1,)
    assert connection.execute("select count(*) from raw.texts").fetchone() == (20,)


def test_a_refused_text_is_raised_where_its_batch_would_have_come(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    bad = text("b", "word") | {"word_count": -1}
    found: list[_Batch] = []
    with (
        texts_written(connection, batches(text("a", "word"), bad, text("c", "word"))) as written,
        pytest.raises(RowsRefusedError, match="text_id 'b'"),
    ):
        found.extend(written)
    assert [batch.texts.column("text_id").to_pylist() for batch in found] == [["a"]]
    assert not is_running("prepare", "write-texts")
