"""Bytes of a scored token, raw and in its mart: ``python -m tests.benchmarks.token_storage``.

A few windows of real text are scored, and their rows written again and again as other documents,
until the blocks of the file no longer matter. Sketches are packed some hundred tokens at a time, so
that copies of a whole text help them nothing.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import closing
from pathlib import Path

import duckdb
import pyarrow as pa
import yaml

from flows.scoring_plan import Document, Scoring
from flows.scoring_rows import scored_rows
from flows.study_scoring import TestSetChoice
from tests.benchmarks.calibration_marts import DBT_PROJECT
from tests.benchmarks.token_scoring import LANGUAGE_MODEL, WINDOWS, loaded
from udfs.identity import content_id
from warehouse.connection import open_warehouse
from warehouse.schema import scored_tokens
from warehouse.writers import upsert

TEXTS, COPIES = 4, 1000
MOST_BYTES = 120.0


def write_tokens(path: Path) -> None:
    """Write the tokens of some texts, and copies of them, as scoring does."""
    found = loaded()
    texts = found.texts(TEXTS)
    scores = found.scorer.score(texts)
    choice = TestSetChoice(name="texts", path="texts.jsonl")
    scoring = Scoring("benchmark", choice, LANGUAGE_MODEL, found.resolved.identity, WINDOWS)
    with open_warehouse(path) as connection:
        for copy in range(COPIES):
            documents = [
                Document(content_id(copy, text.document_id), copy * TEXTS + place, "", 0)
                for place, text in enumerate(texts)
            ]
            rows = scored_rows(scoring, documents, scores, found.scorer)
            upsert(connection, scored_tokens, pa.concat_tables(rows.tokens))


def mart_columns() -> str:
    """Return the columns of ``fct_scored_tokens``, one value for all where it adds one."""
    (path,) = DBT_PROJECT.rglob("_test_sets__models.yml")
    models = yaml.safe_load(path.read_text())["models"]
    (columns,) = (each["columns"] for each in models if each["name"] == "fct_scored_tokens")
    known = {column.name for column in scored_tokens.columns}
    names = [column["name"] for column in columns]
    return ", ".join(name if name in known else f"'added' as {name}" for name in names)


def bytes_per_token(path: Path, columns: str) -> float:
    """Return what a table of *columns* takes in a file of its own."""
    with (
        tempfile.TemporaryDirectory() as folder,
        closing(duckdb.connect(Path(folder) / "alone.duckdb")) as connection,
    ):
        connection.execute(f"attach '{path}' as work (read_only)")
        connection.execute(
            f"create table tokens as select {columns} from work.raw.scored_tokens "  # noqa: S608
            "order by document_id, token_index"
        )
        connection.execute("checkpoint")
        row = connection.execute(
            "select used_blocks * block_size / (select count(*) from tokens) "
            "from pragma_database_size() where database_name = 'alone'"
        ).fetchone()
        assert row is not None
        return float(row[0])


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "work.duckdb"
        write_tokens(path)
        with closing(duckdb.connect(path, read_only=True)) as connection:
            row = connection.execute(
                "select used_blocks * block_size, (select count(*) from raw.scored_tokens) "
                "from pragma_database_size() where database_name = 'work'"
            ).fetchone()
        assert row is not None
        size, count = row
        raw = bytes_per_token(path, "*")
        mart = bytes_per_token(path, mart_columns())
        sketches = bytes_per_token(path, "temperature_sketch, mass_ahead_sketch")
    sys.stdout.write(
        f"{count:,} tokens: the whole work file {size / count:.1f} bytes a token; raw {raw:.1f}, "
        f"mart {mart:.1f} (at most {MOST_BYTES:g}), both sketches {sketches:.1f} of them\n"
    )
    return 0 if max(size / count, raw, mart) <= MOST_BYTES else 1


if __name__ == "__main__":
    sys.exit(main())
