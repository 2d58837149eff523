"""Claims about the step to version 2: an older file becomes what a new one is, rows and all."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path

import duckdb

from tests.warehouse.rows import ingest
from warehouse.connection import open_warehouse
from warehouse.migrations import migrate
from warehouse.schema import SCHEMA_VERSION, ingests, scored_tokens
from warehouse.writers import upsert

NARROW_INGESTS = """
create table raw.ingests (
    ingest_id varchar not null primary key, study_name varchar not null,
    ingest_kind varchar not null
        check (ingest_kind in ('stories', 'generations', 'diversity_vectors')),
    file_name varchar not null, content_sha256 varchar not null, options_json varchar not null,
    status varchar not null check (status in ('running', 'done')),
    row_count bigint check (row_count >= 0), started_at timestamp not null, finished_at timestamp
)
"""
NARROW_REJECTS = """
create table raw.rejects (
    reject_id varchar not null primary key, study_name varchar not null,
    reject_kind varchar not null
        check (reject_kind in ('prompt', 'story', 'sample', 'vector')),
    reason varchar not null check (reason in ('empty_story', 'duplicate_sample')),
    detail varchar not null, prompt_id varchar, story_id varchar, file_name varchar,
    line_number bigint check (line_number >= 1), ingest_id varchar, selection_id varchar
)
"""


def first_version(path: Path) -> None:
    """Make a file as version 1 had it, with one ingest and one reject in it."""
    with open_warehouse(path):
        pass
    with closing(duckdb.connect(path)) as connection:
        for name in ("scored_tokens", "scorings", "ingests", "rejects"):
            connection.execute(f"drop table raw.{name}")
        connection.execute(NARROW_INGESTS)
        connection.execute(NARROW_REJECTS)
        connection.execute("update raw.schema_versions set version = 1")
        connection.execute(
            "insert into raw.ingests values ('first', 'study', 'stories', 'a.jsonl', 'sha', '{}', "
            "'done', 7, timestamp '2026-01-02 03:04:05', null)"
        )
        connection.execute(
            "insert into raw.rejects values ('gone', 'study', 'story', 'empty_story', 'no word', "
            "'p', 's', 'a.jsonl', 3, 'first', null)"
        )


def shape(path: Path) -> list[object]:
    """Columns, checks, keys and comments of every raw table."""
    questions = (
        "select table_name, column_name, data_type, is_nullable, comment from duckdb_columns() "
        "where schema_name = 'raw' order by all",
        "select table_name, constraint_type, constraint_text from duckdb_constraints() "
        "where schema_name = 'raw' order by all",
        "select table_name, comment from duckdb_tables() where schema_name = 'raw' order by all",
    )
    with closing(duckdb.connect(path, read_only=True)) as connection:
        return [connection.execute(question).fetchall() for question in questions]


def test_a_file_of_version_1_becomes_what_a_new_one_is(tmp_path: Path) -> None:
    old, new = tmp_path / "old.duckdb", tmp_path / "new.duckdb"
    first_version(old)
    with open_warehouse(new):
        pass
    migrate(old)
    assert shape(old) == shape(new)
    with closing(duckdb.connect(old, read_only=True)) as connection:
        versions = connection.execute("select version from raw.schema_versions").fetchall()
        assert max(versions) == (SCHEMA_VERSION,)
        kept = connection.execute("select ingest_id, row_count from raw.ingests").fetchall()
        assert kept == [("first", 7)]
        gone = connection.execute("select reject_id, line_number from raw.rejects").fetchall()
        assert gone == [("gone", 3)]


def test_a_migrated_file_takes_forecasts_and_their_tokens(tmp_path: Path) -> None:
    path = tmp_path / "old.duckdb"
    first_version(path)
    with open_warehouse(path) as connection:
        forecasts = ingest("second", "running", ingest_kind="forecasts")
        assert upsert(connection, ingests, [forecasts]) == 1
        token = {"scoring_id": "x", "token_index": 0, "confidence": 0.5, "is_hit": True}
        assert upsert(connection, scored_tokens, [token, token]) == 1
