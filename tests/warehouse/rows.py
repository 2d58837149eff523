"""Rows that nothing is wrong with; light to import, for the processes that tests start and kill."""

from __future__ import annotations

import datetime as dt
from typing import Any

import pyarrow as pa

MARTS = [("marts", "fct_things"), ("marts", "dim_things")]


def story(**values: Any) -> dict[str, Any]:
    """Return a row of ``raw.stories`` that nothing is wrong with, with *values* in it."""
    return {
        "study_name": "study",
        "story_id": "story",
        "prompt_id": "prompt",
        "text_id": "text",
        "story_kind": "human",
        "story_source_name": "human",
        "status": "ok",
        "ingest_id": "first",
    } | values


def ingest(ingest_id: str, status: str, **values: Any) -> dict[str, Any]:
    """Return a row of ``raw.ingests``."""
    return {
        "ingest_id": ingest_id,
        "study_name": "study",
        "ingest_kind": "stories",
        "file_name": "stories.jsonl",
        "content_sha256": ingest_id * 8,
        "options_json": "{}",
        "status": status,
        "started_at": dt.datetime(2026, 1, 2, 3, 4, 5),  # noqa: DTZ001 - stored without a zone
    } | values


def text(text_id: str, content: str, word_count: int | None = None) -> dict[str, Any]:
    """Return a row of ``raw.texts``."""
    return {
        "text_id": text_id,
        "text": content,
        "character_count": len(content),
        "byte_count": len(content.encode()),
        "word_count": len(content.split()) if word_count is None else word_count,
        "normalised_md5": text_id,
    }


def study(**values: Any) -> dict[str, Any]:
    """Return a row of ``raw.studies``."""
    return {
        "study_name": "study",
        "settings_json": "{}",
        "stories_per_prompt": 2,
        "minimum_prompt_characters": 1,
        "maximum_prompt_characters": 500,
        "minimum_story_tokens": 1,
        "maximum_story_tokens": 900,
        "tokenizer_name": "tokenizer",
        "selection_seed": 1,
        "selection_id": "current",
        "embedding_model_name": "embedder",
        "embedding_max_tokens": 256,
        "tagging_model_name": "tagger",
        "tagging_max_characters": 5000,
        "minimum_common_words": 3,
        "definition_version": "1",
    } | values


def token(document: int, index: int, count: int = 1) -> dict[str, Any]:
    """Return a row of ``raw.scored_tokens``."""
    return {
        "scoring_id": "scoring",
        "document_id": str(document),
        "token_index": index,
        "byte_count": count,
        "confidence": 0.5,
        "is_hit": True,
    }


def scored_token_rows(count: int) -> pa.Table:
    """Return *count* tokens of one document."""
    return pa.table(
        {
            "scoring_id": ["scoring"] * count,
            "document_id": ["document"] * count,
            "token_index": pa.array(range(count), pa.int32()),
            "confidence": [0.5] * count,
            "is_hit": [True] * count,
        }
    )


def token_counts(count: int, tokens: int = 7) -> pa.Table:
    """Return *count* rows of ``raw.text_token_counts``."""
    return pa.table(
        {
            "text_id": [f"{index:032x}" for index in range(count)],
            "tokenizer_name": ["tokenizer"] * count,
            "token_count": pa.array([tokens] * count, pa.int32()),
        }
    )
