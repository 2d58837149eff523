"""The step that brings scored tokens: two new tables, and wider lists of ingest and reject kinds.

DuckDB cannot change a check of a column, so the two tables whose checks widen are copied into new
ones under their names. The statements are written out, since a step must not change with the schema
that later versions describe.
"""

from __future__ import annotations

import duckdb

_INGESTS = """
create table raw.ingests_widened (
    ingest_id varchar not null primary key,
    study_name varchar not null,
    ingest_kind varchar not null check (
        ingest_kind in ('stories', 'generations', 'diversity_vectors', 'forecasts')
    ),
    file_name varchar not null,
    content_sha256 varchar not null,
    options_json varchar not null,
    status varchar not null check (status in ('running', 'done')),
    row_count bigint check (row_count >= 0),
    started_at timestamp not null,
    finished_at timestamp
)
"""

_REJECTS = """
create table raw.rejects_widened (
    reject_id varchar not null primary key,
    study_name varchar not null,
    reject_kind varchar not null check (
        reject_kind in ('prompt', 'story', 'sample', 'vector', 'token')
    ),
    reason varchar not null check (
        reason in (
            'prompt_too_short', 'prompt_too_long', 'too_few_stories', 'beyond_prompt_count',
            'no_stories', 'story_too_short', 'story_too_long', 'empty_story', 'duplicate_story',
            'prompt_rejected', 'beyond_stories_per_prompt', 'unknown_prompt', 'duplicate_sample',
            'not_a_probability', 'impossible_outcome'
        )
    ),
    detail varchar not null,
    prompt_id varchar,
    story_id varchar,
    file_name varchar,
    line_number bigint check (line_number >= 1),
    ingest_id varchar,
    selection_id varchar
)
"""

_SCORINGS = """
create table raw.scorings (
    scoring_id varchar not null primary key,
    study_name varchar not null,
    test_set_name varchar not null,
    language_model_name varchar not null,
    outcome_count integer check (outcome_count >= 1),
    ingest_id varchar not null,
    file_name varchar not null
)
"""

_SCORED_TOKENS = """
create table raw.scored_tokens (
    scoring_id varchar not null,
    token_index integer not null,
    outcome_label varchar,
    top_label varchar,
    confidence double not null check (confidence >= 0),
    is_hit boolean not null,
    log_probability_nats double check (isfinite(log_probability_nats)),
    entropy_nats double check (isfinite(entropy_nats)),
    "rank" integer check ("rank" >= 0),
    mass_ahead double check (mass_ahead >= 0),
    temperature_sketch float[],
    mass_ahead_sketch float[],
    primary key (scoring_id, token_index)
)
"""


def add_scored_tokens(connection: duckdb.DuckDBPyConnection) -> None:
    """Create the tables of scored tokens and let ingests and rejects be of their kind."""
    for statement in (_INGESTS, _REJECTS, _SCORINGS, _SCORED_TOKENS):
        connection.execute(statement)
    for name in ("ingests", "rejects"):
        connection.execute(
            f"insert into raw.{name}_widened by name select * from raw.{name}"  # noqa: S608
        )
        connection.execute(f"drop table raw.{name}")
        connection.execute(f"alter table raw.{name}_widened rename to {name}")
