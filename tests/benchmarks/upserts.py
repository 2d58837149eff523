"""Rows a second of Arrow upserts, beside a plain ``create table as select`` of the same rows.

Run as ``python -m tests.benchmarks.upserts``.
"""

from __future__ import annotations

import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import sqlalchemy as sa

from warehouse.connection import checkpoint, open_warehouse
from warehouse.schema import stories, texts
from warehouse.writers import adopt, upsert

STORY_COUNT = 200_000
TEXT_COUNT = 20_000
TEXT_CHARACTERS = 4_000


def story_rows() -> pa.Table:
    """Return ledger rows as an ingest brings them, keys in no order."""
    rng = random.Random(1)  # noqa: S311
    ids = [f"{rng.getrandbits(128):032x}" for _ in range(STORY_COUNT)]
    constant = {
        "study_name": "study",
        "story_kind": "human",
        "story_source_name": "human",
        "status": "ok",
        "file_name": "stories.jsonl",
        "ingest_id": "0" * 32,
    }
    return pa.table(
        {
            "story_id": ids,
            "prompt_id": [ids[index // 10] for index in range(STORY_COUNT)],
            "text_id": ids,
            "line_number": range(1, STORY_COUNT + 1),
        }
        | {name: [value] * STORY_COUNT for name, value in constant.items()}
    )


def text_rows() -> pa.Table:
    """Return texts of random letters."""
    rng = random.Random(2)  # noqa: S311
    contents = [rng.randbytes(TEXT_CHARACTERS // 2).hex() for _ in range(TEXT_COUNT)]
    ids = [content[:32] for content in contents]
    count = [TEXT_CHARACTERS] * TEXT_COUNT
    return pa.table(
        {
            "text_id": ids,
            "text": contents,
            "character_count": count,
            "byte_count": count,
            "word_count": count,
            "normalised_md5": ids,
        }
    )


def measure(table: sa.Table, rows: pa.Table) -> None:
    """Print the speed of each way to write *rows*."""
    with (
        tempfile.TemporaryDirectory() as folder,
        open_warehouse(Path(folder) / "work.duckdb") as connection,
    ):

        def timed(label: str, work: Callable[[], object]) -> None:
            start = time.perf_counter()
            work()
            checkpoint(connection)
            seconds = time.perf_counter() - start
            print(f"{table.name:8} {label:32} {rows.num_rows / seconds:>12,.0f} rows/s")

        connection.register("plain_rows", rows)
        timed(
            "create table as select",
            lambda: connection.execute("create table plain as select * from plain_rows"),
        )
        timed("upsert, all new", lambda: upsert(connection, table, rows))
        timed("upsert, all known", lambda: upsert(connection, table, rows))
        if "ingest_id" in table.c:
            timed("adopt, all known", lambda: adopt(connection, table, rows))


def main() -> None:
    """Measure both tables."""
    measure(stories, story_rows())
    measure(texts, text_rows())


if __name__ == "__main__":
    main()
