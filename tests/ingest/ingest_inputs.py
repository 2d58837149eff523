"""Tiny inputs, and the raw rows that came of them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb

from flows.corpora.layouts import GenerationsLayout, StoriesLayout
from flows.ingest_generations import ingest_generations
from flows.ingest_ledger import IngestReport
from flows.ingest_stories import ingest_stories
from flows.study import StudySettings

TOKENIZER = "packaged:all-minilm-l6-v2"


def write_jsonl(path: Path, records: Sequence[Mapping[str, Any]]) -> Path:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def story_records(prompt_count: int = 4, story_count: int = 2) -> list[dict[str, Any]]:
    """One record per story: short, all different, of growing length."""
    return [
        {
            "prompt_id": f"p{prompt}",
            "prompt": f"Prompt number {prompt}",
            "text": f"Story {prompt} {story} " + "word " * (prompt * story),
        }
        for prompt in range(prompt_count)
        for story in range(story_count)
    ]


def generation_records(prompt_count: int = 4, sample_count: int = 2) -> list[dict[str, Any]]:
    return [
        {
            "prompt_id": f"p{prompt}",
            "prompt": f"Prompt number {prompt}",
            "model": "toy",
            "strategy": "temperature_0.7",
            "sample_index": sample,
            "seed": 100 + sample,
            "finish_reason": "end_turn",
            "temperature": 0.7,
            "text": f"Generated {prompt} {sample}",
        }
        for prompt in range(prompt_count)
        for sample in range(sample_count)
    ]


def rows(connection: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return connection.execute(sql).fetchall()


RAW_TABLES = (
    "studies",
    "prompts",
    "texts",
    "text_token_counts",
    "stories",
    "story_selections",
    "rejects",
    "diversity_vectors",
)


def raw_state(connection: duckdb.DuckDBPyConnection) -> dict[str, list[tuple[Any, ...]]]:
    """Every raw row that an ingest makes, in a settled order, times of day left out."""
    state = {name: sorted(rows(connection, f"from raw.{name}"), key=repr) for name in RAW_TABLES}
    state["ingests"] = sorted(
        rows(connection, "select * exclude (started_at, finished_at) from raw.ingests"), key=repr
    )
    return state


def ingest_story_file(
    connection: duckdb.DuckDBPyConnection, settings: StudySettings, path: Path, **options: Any
) -> IngestReport:
    return ingest_stories(connection, settings, StoriesLayout(str(path), **options))


def ingest_generation_file(
    connection: duckdb.DuckDBPyConnection, settings: StudySettings, path: Path, **options: Any
) -> IngestReport:
    return ingest_generations(connection, settings, GenerationsLayout(str(path), **options))
