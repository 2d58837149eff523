"""The real inputs from end to end, a few prompts of each: ingest, measure, build, query."""

from __future__ import annotations

import gzip
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from warehouse.connection import snapshot_path

pytestmark = [
    pytest.mark.shared_data,
    pytest.mark.timeout(600),
]

PROMPTS = 5
"""Enough for a hull of full rank; the whole sets take minutes of embedding and are run by hand."""


def calibrary(home: Path, *arguments: str) -> str:
    completed = subprocess.run(
        [sys.executable, "-m", "flows", *arguments, "--home", str(home)],
        capture_output=True,
        text=True,
        timeout=400,
        env=os.environ | {"CALIBRARY_HOME": str(home)},
    )
    assert completed.returncode == 0, completed.stderr
    return completed.stdout


def first_prompts(path: Path, count: int) -> Iterator[str]:
    """Every line of the first *count* prompts; the file is ordered by training stage."""
    with gzip.open(path, "rt", encoding="utf-8") as file:
        lines = [(json.loads(line)["prompt_id"], line) for line in file]
    wanted = list(dict.fromkeys(prompt_id for prompt_id, _ in lines))[:count]
    return (line for prompt_id, line in lines if prompt_id in wanted)


@pytest.fixture(scope="module")
def marts(
    shared_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[duckdb.DuckDBPyConnection]:
    folder = tmp_path_factory.mktemp("real")
    home = folder / "home"
    stories = shared_data / "writing_prompts"
    calibrary(
        home, "ingest", "stories", str(stories / "responses.jsonl.gz"),
        "--prompts", str(stories / "prompts.jsonl.gz"), "--name", "writing_prompts",
        "--prompt-count", str(PROMPTS),
    )  # fmt: skip
    part = folder / "olmo.jsonl"
    whole = shared_data / "olmo_generations" / "generations.jsonl.gz"
    part.write_text("".join(first_prompts(whole, PROMPTS)), encoding="utf-8")
    calibrary(
        home, "ingest", "generations", str(part), "--name", "olmo",
        "--language-model-column", "stage", "--decoding-strategy", "temperature_1.0",
    )  # fmt: skip
    vectors = shared_data / "uncertain_human" / "uncertainty_analysis.csv"
    calibrary(home, "ingest", "diversity-vectors", str(vectors), "--name", "uncertain_human")
    calibrary(home, "measure")
    calibrary(home, "build")
    with duckdb.connect(snapshot_path(home), read_only=True) as connection:
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
    assert row[0] == 10 * PROMPTS
    assert row[0] + row[1] == 8169


def test_human_stories_have_diversities_and_a_credal_set(marts: duckdb.DuckDBPyConnection) -> None:
    rows = marts.execute(
        "select story_count, diversity_status, semantic_diversity, lexical_diversity, "
        "syntactic_diversity, length_controlled_story_count from fct_diversity_vectors "
        "where study_name = 'writing_prompts'"
    ).fetchall()
    assert len(rows) == PROMPTS
    for story_count, status, *diversities, controlled in rows:
        assert (story_count, status, controlled) == (10, "ok", 10)
        assert all(0.0 < diversity < 1.0 for diversity in diversities)
    hull = marts.execute(
        "select hull_rank, prompt_count, hull_volume > 0 from fct_credal_sets where study_name = "
        "'writing_prompts' and coordinate_frame = 'raw' and axes = 'semantic_lexical_syntactic'"
    ).fetchall()
    assert hull == [(3, PROMPTS, True)]


def test_four_training_stages_have_sets_and_no_comparison_with_people(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    sources = marts.execute(
        "select story_source_name, story_count from dim_story_sources where study_name = 'olmo'"
    ).fetchall()
    assert len(sources) == 4
    assert {count for _, count in sources} == {10 * PROMPTS}
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
