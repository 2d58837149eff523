"""The real inputs from end to end, a few prompts of each: ingest, measure, build, query."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from tests.conftest import REAL_PROMPTS, REAL_SAMPLES
from warehouse.connection import snapshot_path

pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.timeout(600),
]


@pytest.fixture(scope="module")
def marts(real_home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(snapshot_path(real_home), read_only=True) as connection:
        connection.execute("set search_path = 'marts'")
        yield connection


def test_every_response_is_selected_or_rejected_with_a_reason(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    row = marts.execute(
        "select (select count(*) from fct_stories where study_name = 'writing_prompts' "
        "and is_selected), (select count(*) from fct_rejects where "
        "study_name = 'writing_prompts' and reject_kind = 'story')"
    ).fetchone()
    assert row is not None
    assert row[0] == 10 * REAL_PROMPTS
    assert row[0] + row[1] == 8169


def test_human_stories_have_diversities_and_a_credal_set(marts: duckdb.DuckDBPyConnection) -> None:
    rows = marts.execute(
        "select story_count, diversity_status, semantic_diversity, lexical_diversity, "
        "syntactic_diversity, length_controlled_story_count from fct_diversity_vectors "
        "where study_name = 'writing_prompts'"
    ).fetchall()
    assert len(rows) == REAL_PROMPTS
    for story_count, status, *diversities, controlled in rows:
        assert (story_count, status, controlled) == (10, "ok", 10)
        assert all(0.0 < diversity < 1.0 for diversity in diversities)
    hull = marts.execute(
        "select hull_rank, prompt_count, hull_volume > 0 from fct_credal_sets where study_name = "
        "'writing_prompts' and coordinate_frame = 'raw' and axes = 'semantic_lexical_syntactic'"
    ).fetchall()
    assert hull == [(3, REAL_PROMPTS, True)]


def test_four_training_stages_have_sets_and_no_comparison_with_people(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    sources = marts.execute(
        "select story_source_name, story_count from dim_story_sources where study_name = 'olmo'"
    ).fetchall()
    assert len(sources) == 4
    assert {count for _, count in sources} == {REAL_SAMPLES * REAL_PROMPTS}
    statuses = marts.execute(
        "select distinct comparison_status, overlap_calibration, centroid_distance, volume_ratio, "
        "composite_calibration from fct_credal_overlaps where study_name = 'olmo'"
    ).fetchall()
    assert statuses == [("no_human_stories", None, None, None, None)]
    frames = marts.execute(
        "select distinct coordinate_frame from fct_credal_sets where study_name = 'olmo'"
    ).fetchall()
    assert {frame for (frame,) in frames} == {"raw", "pooled_z", "self_z"}


def test_the_released_vectors_give_their_known_hulls(marts: duckdb.DuckDBPyConnection) -> None:
    rows = marts.execute(
        "select coordinate_frame, axes, hull_measure, vertex_count from fct_credal_sets "
        "where study_name = 'uncertain_human' and story_source_name = 'human'"
    ).fetchall()
    found = {(frame, axes): (measure, count) for frame, axes, measure, count in rows}
    three, two = "semantic_lexical_syntactic", "semantic_lexical"
    assert found["raw", three] == (pytest.approx(7.150963593e-4, abs=5e-14), 10)
    assert found["pooled_z", three][0] == pytest.approx(0.1302762078, abs=5e-11)
    assert found["pooled_z", two] == (pytest.approx(1.371645042, abs=5e-10), 9)
    flat = marts.execute(
        "select story_source_name from fct_credal_sets where study_name = 'uncertain_human' "
        "and is_degenerate and hull_rank = 2 and hull_volume = 0 "
        "and coordinate_frame = 'pooled_z' and axes = 'semantic_lexical_syntactic' order by all"
    ).fetchall()
    assert flat == [
        ("GPT2-XL/top_k_40",),
        ("Gemma-2B/temperature_1.2",),
        ("Gemma-2B/top_k_40",),
    ]
