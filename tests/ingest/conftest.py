"""Real files and real warehouse files for the ingest tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from flows.study import StudySettings
from tests.ingest.ingest_inputs import TOKENIZER
from warehouse.connection import open_warehouse


@pytest.fixture
def warehouse(tmp_path: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_warehouse(tmp_path / "work.duckdb") as connection:
        yield connection


@pytest.fixture
def small() -> StudySettings:
    """Two stories of one token or more per prompt, so that tiny inputs survive the selection."""
    return StudySettings(
        study_name="tiny",
        stories_per_prompt=2,
        prompt_count=None,
        minimum_prompt_characters=1,
        minimum_story_tokens=1,
        maximum_story_tokens=50,
        tokenizer_name=TOKENIZER,
    )
