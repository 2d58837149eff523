from __future__ import annotations

import datetime as dt
import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.warehouse.conftest import Process
from tests.warehouse.rows import (
    ingest,
    scored_token_rows,
    story,
    text,
    token,
    token_counts,
)
from warehouse import writers
from warehouse.connection import open_warehouse
from warehouse.errors import RowsRefusedError
from warehouse.schema import (
    arrow_schema,
    ingests,
    scored_tokens,
    stories,
    text_embeddings,
    text_token_counts,
    text_word_sets,
    texts,
)
from warehouse.writers import adopt, upsert


@pytest.fixture
def connection(work: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_warehouse(work) as opened:
        yield opened


def seeds(connection: duckdb.DuckDBPyConnection) -> dict[str, tuple[int, str]]:
    rows = connection.execute("select story_id, seed, ingest_id from raw.stories").fetchall()
    return {row[0]: (row[1], row[2]) for row in rows}


def test_rows_come_in_as_arrow_tables_batches_or_mappings(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    table = token_counts(3)
    assert upsert(connection, text_token_counts, table.slice(0, 1)) == 1
    assert upsert(connection, text_token_counts, table.slice(1, 1).to_batches()[0]) == 1
    assert upsert(connection, text_token_counts, table.slice(2, 1).to_pylist()) == 1
    assert upsert(connection, text_token_counts, []) == 0
    stored = connection.execute("from raw.text_token_counts order by 1").to_arrow_table()
    assert stored.to_pylist() == table.to_pylist()


def test_the_same_rows_again_change_nothing(connection: duckdb.DuckDBPyConnection) -> None:
    table = token_counts(100)
    assert upsert(connection, text_token_counts, table) == 100
    assert upsert(connection, text_token_counts, table) == 0
    assert upsert(connection, text_token_counts, table, update=["token_count"]) == 0


def test_update_writes_only_the_named_columns_and_only_where_they_differ(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    upsert(connection, ingests, [ingest("a", "running"), ingest("b", "done", row_count=5)])
    later = [
        ingest("a", "done", row_count=4, file_name="other.jsonl"),
        ingest("b", "done", row_count=5, file_name="other.jsonl"),
        ingest("c", "running"),
    ]
    assert upsert(connection, ingests, later, update=["status", "row_count"]) == 2
    rows = connection.execute(
        "select ingest_id, status, row_count, file_name from raw.ingests order by 1"
    ).fetchall()
    assert rows == [
        ("a", "done", 4, "stories.jsonl"),
        ("b", "done", 5, "stories.jsonl"),
        ("c", "running", None, "stories.jsonl"),
    ]


def test_update_to_and_from_null_is_a_change(connection: duckdb.DuckDBPyConnection) -> None:
    upsert(connection, ingests, [ingest("a", "done", row_count=None)])
    assert (
        upsert(connection, ingests, [ingest("a", "done", row_count=0)], update=["row_count"]) == 1
    )
    changed = [ingest("a", "done", row_count=None)]
    assert upsert(connection, ingests, changed, update=["row_count"]) == 1


@pytest.mark.parametrize("name", ["text_id", "words"])
def test_keys_and_lists_cannot_be_updated(connection: duckdb.DuckDBPyConnection, name: str) -> None:
    # DuckDB would delete and insert behind the scenes.
    with pytest.raises(ValueError, match=name):
        upsert(connection, text_word_sets, [], update=[name])


@pytest.mark.parametrize("update", [(), ("token_count",)])
@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    stored=st.dictionaries(st.integers(0, 6), st.integers(0, 3)),
    incoming=st.lists(st.tuples(st.integers(0, 6), st.integers(0, 3)), max_size=12),
)
def test_the_first_row_of_a_key_counts_whatever_the_batches(
    connection: duckdb.DuckDBPyConnection,
    monkeypatch: pytest.MonkeyPatch,
    update: tuple[str, ...],
    stored: dict[int, int],
    incoming: list[tuple[int, int]],
) -> None:
    def rows(pairs: list[tuple[int, int]]) -> list[dict[str, object]]:
        return [
            {"text_id": str(key), "tokenizer_name": "tokenizer", "token_count": count}
            for key, count in pairs
        ]

    expected = dict(stored)
    first: dict[int, int] = {}
    for key, count in incoming:
        first.setdefault(key, count)
    changes = sum(1 for key in first if key not in stored)
    for key, count in first.items():
        if update and key in stored and stored[key] != count:
            changes += 1
        expected[key] = count if update else stored.get(key, count)

    connection.execute("delete from raw.text_token_counts")
    monkeypatch.setattr(writers, "BATCH_ROWS", 3)
    upsert(connection, text_token_counts, rows(list(stored.items())))
    assert upsert(connection, text_token_counts, rows(incoming), update=update) == changes
    found = connection.execute("select text_id, token_count from raw.text_token_counts").fetchall()
    assert {int(key): count for key, count in found} == expected


def test_a_row_of_an_unfinished_ingest_is_taken_over_whole(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    states = [ingest("killed", "running"), ingest("done", "done"), ingest("new", "running")]
    upsert(connection, ingests, states)
    old = [
        story(story_id="left", seed=1, ingest_id="killed"),
        story(story_id="settled", seed=1, ingest_id="done"),
        story(story_id="own", seed=1, ingest_id="new"),
        story(story_id="lost", seed=1, ingest_id="nobody knows"),
    ]
    assert adopt(connection, stories, old) == 4
    names = ("left", "settled", "own", "lost", "fresh")
    new = [story(story_id=name, seed=2, ingest_id="new") for name in names]
    assert adopt(connection, stories, [*new, story(story_id="fresh", seed=3)]) == 3
    assert seeds(connection) == {
        "left": (2, "new"),
        "settled": (1, "done"),
        "own": (1, "new"),
        "lost": (2, "new"),
        "fresh": (2, "new"),
    }
    assert adopt(connection, stories, new) == 0


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"status": "odd"}, r"status IN .*got status 'odd', in the row with .*story_id 'story'"),
        ({"line_number": 0}, r"line_number >= 1, got line_number 0"),
        ({"wall_seconds": float("nan")}, r"isfinite\(wall_seconds\).*got wall_seconds nan"),
        ({"prompt_id": None}, r"prompt_id must not be NULL in raw\.stories, got 1 NULL of 1 rows"),
        ({"story_id": None}, r"story_id must not be NULL"),
        ({"colour": "red"}, r"got unknown \['colour'\]"),
        ({"sample_index": 1.5}, r"sample_index must be of type int32.*got double"),
        ({"sample_index": 2**40}, r"sample_index must be of type int32.*got int64"),
        ({"seed": "seven"}, r"seed must be of type int64 in raw\.stories, got string"),
    ],
)
def test_a_row_that_does_not_fit_is_refused_in_one_sentence_with_its_value(
    connection: duckdb.DuckDBPyConnection, wrong: dict[str, object], sentence: str
) -> None:
    with pytest.raises(RowsRefusedError, match=sentence) as caught:
        upsert(connection, stories, [story(**wrong)])
    assert "\n" not in str(caught.value)
    assert seeds(connection) == {}


def test_a_missing_column_is_named(connection: duckdb.DuckDBPyConnection) -> None:
    row = story()
    del row["status"]
    with pytest.raises(RowsRefusedError, match=r"missing \['status'\]"):
        upsert(connection, stories, [row])


def test_batches_before_a_refused_one_are_kept_and_the_refused_one_is_not(
    connection: duckdb.DuckDBPyConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(writers, "BATCH_ROWS", 2)
    rows = [story(story_id=str(index)) for index in range(4)]
    with pytest.raises(RowsRefusedError):
        upsert(connection, stories, [*rows[:3], story(story_id="3", line_number=-1), *rows[3:]])
    assert set(seeds(connection)) == {"0", "1"}
    assert upsert(connection, stories, rows) == 2


def test_times_with_a_zone_are_stored_in_utc(connection: duckdb.DuckDBPyConnection) -> None:
    east = dt.timezone(dt.timedelta(hours=2))
    upsert(
        connection, ingests, [ingest("a", "done", started_at=dt.datetime(2026, 1, 1, tzinfo=east))]
    )
    row = connection.execute("select cast(started_at as varchar) from raw.ingests").fetchone()
    assert row == ("2025-12-31 22:00:00",)


def test_embeddings_keep_every_bit_of_float32(connection: duckdb.DuckDBPyConnection) -> None:
    values = np.random.default_rng(5).standard_normal(384).astype(np.float32)
    row = {
        "text_id": "a",
        "word_limit": 0,
        "embedding_model_name": "embedder",
        "max_tokens": 256,
        "embedded_tokens": 3,
        "truncated_tokens": 0,
        "embedding": values,
    }
    upsert(connection, text_embeddings, [row])
    stored = connection.execute("from raw.text_embeddings").to_arrow_table()
    assert stored.schema.names == arrow_schema(text_embeddings).names
    found = np.array(stored.column("embedding")[0].as_py(), np.float32)
    assert found.tobytes() == values.tobytes()


def test_names_of_python_variables_are_no_tables(connection: duckdb.DuckDBPyConnection) -> None:
    not_a_table = token_counts(1)
    with pytest.raises(duckdb.CatalogException):
        connection.execute("from not_a_table")
    assert not_a_table.num_rows == 1


@settings(
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    calls=st.lists(
        st.lists(st.tuples(st.integers(0, 2), st.integers(0, 3), st.integers(0, 3)), max_size=8),
        max_size=4,
    )
)
def test_rows_of_a_table_without_an_index_are_merged_by_their_key(
    connection: duckdb.DuckDBPyConnection,
    monkeypatch: pytest.MonkeyPatch,
    calls: list[list[tuple[int, int, int]]],
) -> None:
    connection.execute("delete from raw.scored_tokens")
    monkeypatch.setattr(writers, "BATCH_ROWS", 3)
    expected: dict[tuple[str, int], int] = {}
    for call in calls:
        before = len(expected)
        for document, index, count in call:
            expected.setdefault((str(document), index), count)
        added = upsert(connection, scored_tokens, [token(*row) for row in call])
        assert added == len(expected) - before
    stored = connection.execute(
        "select document_id, token_index, byte_count from raw.scored_tokens"
    ).fetchall()
    assert sorted(stored) == sorted((*key, count) for key, count in expected.items())


def test_nothing_is_updated_in_a_table_without_an_index(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    with pytest.raises(ValueError, match="scored_tokens"):
        upsert(connection, scored_tokens, [token(0, 0)], update=["byte_count"])


def test_a_refused_token_is_named_by_its_key(connection: duckdb.DuckDBPyConnection) -> None:
    with pytest.raises(RowsRefusedError, match="document_id '0', token_index 1"):
        upsert(connection, scored_tokens, [token(0, 0), token(0, 1, count=-1)])


def killed_after(batches: int, process: Process, rng: random.Random) -> int:
    """Kill *process* soon after that many batches; return the rows it had said are written."""
    assert process.stdout is not None
    finished = 0
    for _ in range(batches):
        finished = int(process.stdout.readline())
    time.sleep(rng.uniform(0, 0.1))
    process.kill()
    finished = max([finished, *(int(line) for line in process.stdout)])
    process.wait()
    return finished


MERGE = """
    import sys
    from pathlib import Path
    from tests.warehouse.rows import scored_token_rows
    from warehouse.connection import open_warehouse
    from warehouse.schema import scored_tokens
    from warehouse.writers import upsert
    rows = scored_token_rows(60_000)
    with open_warehouse(Path(sys.argv[1])) as connection:
        for start in range(0, rows.num_rows, 5_000):
            upsert(connection, scored_tokens, rows.slice(start, 5_000))
            print(start + 5_000, flush=True)
"""


def test_killing_merges_anywhere_keeps_every_finished_batch_and_doubles_no_row(
    work: Path, start_python: Callable[..., Process]
) -> None:
    rng = random.Random(12)  # noqa: S311
    counted = "select count(*), count(distinct token_index) from raw.scored_tokens"
    for first_batches in (2, 9):
        finished = killed_after(first_batches, start_python(MERGE, work), rng)
        with open_warehouse(work) as connection:
            row = connection.execute(counted).fetchone()
            assert row is not None
            assert row[0] == row[1] >= finished
            assert row[0] % 5_000 == 0
    rows = scored_token_rows(60_000)
    with open_warehouse(work) as connection:
        assert upsert(connection, scored_tokens, rows) == 60_000 - row[0]
        assert connection.execute(counted).fetchone() == (60_000, 60_000)
        assert upsert(connection, scored_tokens, rows) == 0


FILL = """
    import sys
    from pathlib import Path
    from tests.warehouse.rows import token_counts
    from warehouse.connection import open_warehouse
    from warehouse.schema import text_token_counts
    from warehouse.writers import upsert
    rows = token_counts(160_000)
    with open_warehouse(Path(sys.argv[1])) as connection:
        for start in range(0, rows.num_rows, 5_000):
            upsert(connection, text_token_counts, rows.slice(start, 5_000))
            print(start + 5_000, flush=True)
"""


def test_killing_upserts_anywhere_keeps_every_finished_batch_and_a_sound_key(
    work: Path, start_python: Callable[..., Process]
) -> None:
    # 160,000 rows: a lost key was once seen after 122,880 of them.
    rng = random.Random(11)  # noqa: S311
    for first_batches in (3, 26):
        finished = killed_after(first_batches, start_python(FILL, work), rng)
        with open_warehouse(work) as connection:
            row = connection.execute("select count(*) from raw.text_token_counts").fetchone()
            assert row is not None
            assert row[0] >= finished
            assert row[0] % 5_000 == 0
            key_is_sound(connection, row[0])
    with open_warehouse(work) as connection:
        assert upsert(connection, text_token_counts, token_counts(160_000)) == 160_000 - row[0]
        key_is_sound(connection, 160_000)
        assert upsert(connection, text_token_counts, token_counts(160_000)) == 0


def key_is_sound(connection: duckdb.DuckDBPyConnection, count: int) -> None:
    """The key finds rows all over the table, and takes no second row for any."""
    for index in range(0, count, max(count // 40, 1)):
        row = connection.execute(
            "select count(*) from raw.text_token_counts "
            "where text_id = $text_id and tokenizer_name = 'tokenizer'",
            {"text_id": f"{index:032x}"},
        ).fetchone()
        assert row == (1,)
    if count:
        with pytest.raises(duckdb.ConstraintException):
            connection.execute(
                "insert into raw.text_token_counts values ($text_id, 'tokenizer', 1)",
                {"text_id": f"{count - 1:032x}"},
            )


def test_large_strings_of_arrow_come_in_as_they_are(connection: duckdb.DuckDBPyConnection) -> None:
    row = text("a", "gr\u00fcn \U0001f600\n\x00end")
    table = pa.table({name: pa.array([value]) for name, value in row.items()})
    table = table.set_column(1, "text", table.column("text").cast(pa.large_string()))
    upsert(connection, texts, table)
    assert connection.execute("select text from raw.texts").fetchall() == [(row["text"],)]
