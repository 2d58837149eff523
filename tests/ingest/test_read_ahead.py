"""The second thread: order, errors, and that nothing of it is left."""

from __future__ import annotations

import threading
from collections.abc import Generator, Iterator

import pytest

from flows.corpora.read_ahead import read_ahead


class _Counted:
    """Numbers from 0, and the thread in which their generator was closed."""

    def __init__(self, *, fails_at: int | None = None) -> None:
        self.closed_in: str | None = None
        self._fails_at = fails_at

    def numbers(self) -> Generator[int, None, None]:
        try:
            for number in range(1000):
                if number == self._fails_at:
                    raise ValueError("line 3 is bad")
                yield number
        finally:
            self.closed_in = threading.current_thread().name


def test_items_come_in_order_and_the_thread_ends() -> None:
    counted = _Counted()
    with read_ahead(counted.numbers()) as numbers:
        assert list(numbers) == list(range(1000))
    assert counted.closed_in == "read-ahead"
    assert "read-ahead" not in {thread.name for thread in threading.enumerate()}


def test_an_error_comes_after_the_items_before_it() -> None:
    found: list[int] = []
    with (
        read_ahead(_Counted(fails_at=2).numbers()) as numbers,
        pytest.raises(ValueError, match="line 3"),
    ):
        found.extend(numbers)
    assert found == [0, 1]


def test_leaving_early_closes_the_items_of_every_stage_in_its_own_thread() -> None:
    first, second = _Counted(), _Counted()

    def passed_on(numbers: Iterator[int]) -> Generator[int, None, None]:
        for number, _ in zip(numbers, second.numbers(), strict=False):
            yield number

    with (
        read_ahead(first.numbers()) as numbers,
        read_ahead(passed_on(numbers)) as passed,
    ):
        assert next(passed) == 0
    assert first.closed_in == "read-ahead"
    assert second.closed_in == "read-ahead"
    assert "read-ahead" not in {thread.name for thread in threading.enumerate()}
