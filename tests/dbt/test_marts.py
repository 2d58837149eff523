"""Claims about the marts, checked by brute force on three tiny studies."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from scipy.spatial import ConvexHull

from tests.dbt.raw_studies import STORIES, all_studies, feature_rows
from udfs.identity import content_id, text_id
from warehouse import schema
from warehouse.connection import open_warehouse
from warehouse.measurements import Feature, missing_cuts

Rows = list[dict[str, Any]]
AXES = ("semantic", "lexical", "syntactic")


def query(connection: duckdb.DuckDBPyConnection, sql: str, *values: Any) -> Rows:
    return connection.execute(sql, list(values)).to_arrow_table().to_pylist()


def mean_over_pairs(items: list[Any], distance: Any) -> float | None:
    pairs = list(itertools.combinations(items, 2))
    return sum(distance(*pair) for pair in pairs) / len(pairs) if pairs else None


def cosine_distance(first: Any, second: Any) -> float:
    first, second = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return 1.0 - float(first @ second / math.sqrt(first @ first) / math.sqrt(second @ second))


def jaccard_distance(first: list[str], second: list[str]) -> float:
    union = set(first) | set(second)
    return 1.0 - len(set(first) & set(second)) / len(union)


def brute_force_vector(texts: list[str], word_limit: int) -> tuple[float | None, ...]:
    features = [feature_rows(text, word_limit) for text in texts]
    return (
        mean_over_pairs([row["text_embeddings"]["embedding"] for row in features], cosine_distance),
        mean_over_pairs([row["text_word_sets"]["words"] for row in features], jaccard_distance),
        mean_over_pairs(
            [row["text_pos_bigrams"]["pos_bigrams"] for row in features], jaccard_distance
        ),
    )


def drawn_texts(study_index: int) -> dict[tuple[str, str], list[str]]:
    """Texts that take part, by prompt and story source, straight from the hand-made rows."""
    tables = all_studies()[study_index].tables
    texts = {row["text_id"]: row["text"] for row in tables["texts"]}
    drawn = {row["story_id"] for row in tables.get("story_selections", [])}
    found: dict[tuple[str, str], list[str]] = {}
    for row in tables["stories"]:
        is_drawn = row["story_id"] in drawn if row["story_kind"] == "human" else True
        if is_drawn and row["status"] in {"ok", "truncated"} and row["ingest_id"] != "killed":
            key = (row["prompt_id"], row["story_source_name"])
            found.setdefault(key, []).append(texts[row["text_id"]])
    return found


@pytest.mark.parametrize(("study_index", "study_name"), [(0, "compared"), (1, "generated")])
def test_diversity_vectors_are_the_means_over_all_pairs_of_stories(
    marts: duckdb.DuckDBPyConnection, study_index: int, study_name: str
) -> None:
    expected = drawn_texts(study_index)
    shortest: dict[str, int] = {}
    for (prompt_id, _), texts in expected.items():
        words = min(len(text.split()) for text in texts)
        shortest[prompt_id] = min(words, shortest.get(prompt_id, words))
    rows = query(
        marts, "select * from marts.fct_diversity_vectors where study_name = ?", study_name
    )
    assert {(row["prompt_id"], row["story_source_name"]) for row in rows} == set(expected)
    for row in rows:
        texts = expected[row["prompt_id"], row["story_source_name"]]
        cut = max(20, shortest[row["prompt_id"]])
        long_enough = [text for text in texts if len(text.split()) >= cut]
        assert row["common_word_count"] == cut
        assert (row["story_count"], row["length_controlled_story_count"]) == (
            len(texts),
            len(long_enough),
        )
        whole = tuple(row[f"{axis}_diversity"] for axis in AXES)
        assert whole == pytest.approx(brute_force_vector(texts, 0), abs=1e-12)
        common = tuple(row[f"length_controlled_{axis}_diversity"] for axis in AXES)
        assert common == pytest.approx(brute_force_vector(long_enough, cut), abs=1e-12)


def test_sets_with_missing_stories_say_so_and_are_never_filled_up(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    rows = query(
        marts,
        "select source_prompt_id, story_count, excluded_story_count, requested_story_count,"
        " diversity_status, semantic_diversity is null as is_null"
        " from marts.fct_diversity_vectors"
        " inner join marts.dim_prompts using (study_name, prompt_id)"
        " where study_name = 'compared' and story_source_name = 'alpha/cool'"
        " order by source_prompt_id limit 3",
    )
    assert [tuple(row.values()) for row in rows] == [
        ("0", 1, 1, STORIES, "too_few_stories", True),
        ("1", 2, 1, STORIES, "incomplete", False),
        ("2", 3, 0, STORIES, "ok", False),
    ]


def test_a_sample_that_never_came_is_a_reject_with_its_own_identity(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    prompt_id = content_id("prompt", "Prompt 0 of compared")
    rows = query(
        marts,
        "select * from marts.fct_rejects"
        " where reason = 'missing_sample' and study_name = 'compared'",
    )
    assert [(row["study_name"], row["prompt_id"], row["reject_id"]) for row in rows] == [
        (
            "compared",
            prompt_id,
            content_id("missing_sample", "compared", prompt_id, "alpha/cool", 0),
        )
    ]


def test_samples_without_words_are_rejects_that_point_into_the_ledger(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    rows = query(
        marts,
        "select reason, story_status, detail from marts.fct_rejects"
        " inner join marts.fct_stories using (study_name, prompt_id, story_id)"
        " where reject_kind = 'sample' order by reason",
    )
    assert [tuple(row.values()) for row in rows] == [
        ("empty_sample", "empty", "Sample 0 of alpha/cool holds no word in its 3 characters."),
        ("failed_sample", "failed", "Sample 1 of alpha/cool has status failed and no text."),
    ]


@pytest.mark.parametrize("feature", Feature)
def test_cuts_to_measure_are_the_cuts_that_dbt_takes_diversities_over(
    built: Path, tmp_path: Path, feature: Feature
) -> None:
    with open_warehouse(tmp_path / "unmeasured.duckdb") as connection:
        for rows in all_studies():
            rows.write(connection)
        asked = {
            name: {(cut.text_id, cut.word_limit) for cut in missing_cuts(connection, name, feature)}
            for name in ("compared", "generated", "imported")
        }
    with duckdb.connect(built, read_only=True) as connection:
        for name, cuts in asked.items():
            made = connection.execute(
                "select text_id, word_limit from intermediate.int_story_cuts_made"
                " where study_name = ?",
                [name],
            ).fetchall()
            assert cuts == set(made), name
    assert asked["compared"]
    assert asked["generated"]


def test_only_the_current_selection_counts(marts: duckdb.DuckDBPyConnection) -> None:
    ((count,),) = marts.execute(
        "select count(*) from marts.fct_rejects where reason = 'beyond_stories_per_prompt'"
    ).fetchall()
    ((written,),) = marts.execute("select count(*) from raw.rejects").fetchall()
    assert (count, written) == (5, 10)


def test_rows_of_an_unfinished_ingest_are_invisible(marts: duckdb.DuckDBPyConnection) -> None:
    for mart in ("fct_stories", "dim_story_sources", "fct_diversity_vectors"):
        rows = marts.execute(
            f"select 1 from marts.{mart} where story_source_name = 'ghost/none'"  # noqa: S608
        ).fetchall()
        assert rows == []


def scaled_points(marts: duckdb.DuckDBPyConnection, study: str, frame: str) -> dict[str, Any]:
    """Points by story source and prompt, scaled by numpy."""
    rows = query(
        marts,
        "select * from marts.fct_diversity_vectors where study_name = ?"
        " and semantic_diversity is not null order by story_source_name, prompt_id",
        study,
    )
    points: dict[str, dict[str, Any]] = {}
    for row in rows:
        vector = np.array([row[f"{axis}_diversity"] for axis in AXES])
        points.setdefault(row["story_source_name"], {})[row["prompt_id"]] = vector
    everything = np.array([point for of in points.values() for point in of.values()])
    scaled: dict[str, dict[str, Any]] = {}
    for source, of in points.items():
        own = np.array(list(of.values()))
        human = np.array(list(points.get("human", {}).values()))
        fitted = {"pooled_z": everything, "human_z": human, "self_z": own}.get(frame)
        mean, sd = (0.0, 1.0) if fitted is None else (fitted.mean(axis=0), fitted.std(axis=0))
        sd = np.where(np.asarray(sd) < 1e-12, np.inf, sd)
        scaled[source] = {prompt: (point - mean) / sd for prompt, point in of.items()}
    return scaled


FRAMES = ("raw", "pooled_z", "human_z", "self_z")


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("axis_count", [2, 3])
@pytest.mark.parametrize("study", ["compared", "imported"])
def test_credal_sets_are_the_hulls_of_vectors_scaled_by_numpy(
    marts: duckdb.DuckDBPyConnection, study: str, axis_count: int, frame: str
) -> None:
    rows = query(
        marts,
        "select * from marts.fct_credal_sets where study_name = ? and coordinate_frame = ?"
        " and axis_count = ?",
        study,
        frame,
        axis_count,
    )
    points = scaled_points(marts, study, frame)
    assert {row["story_source_name"] for row in rows} == set(points)
    for row in rows:
        cloud = np.array(list(points[row["story_source_name"]].values()))[:, :axis_count]
        assert row["prompt_count"] == len(cloud)
        if row["story_source_name"] == "flat/cool" and axis_count == 3:
            flat = ConvexHull(cloud[:, :2])
            assert (row["hull_rank"], row["hull_volume"]) == (2, 0.0)
            assert row["credal_set_status"] == "flat"
            assert row["hull_measure"] == pytest.approx(flat.volume, rel=1e-9)
            assert row["vertex_count"] == len(flat.vertices)
            continue
        hull = ConvexHull(cloud)
        assert row["hull_volume"] == pytest.approx(hull.volume, rel=1e-9)
        found = np.array(sorted(row["vertices"]))
        expected = np.array(sorted(cloud[hull.vertices].tolist()))
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("axis_count", [2, 3])
def test_comparisons_are_over_the_prompts_that_both_sets_have(
    marts: duckdb.DuckDBPyConnection, axis_count: int, frame: str
) -> None:
    points = scaled_points(marts, "compared", frame)
    rows = query(
        marts,
        "select * from marts.fct_credal_overlaps where study_name = 'compared'"
        " and coordinate_frame = ? and axis_count = ? order by story_source_name",
        frame,
        axis_count,
    )
    assert [row["story_source_name"] for row in rows] == ["alpha/cool", "beta/hot"]
    # One prompt of alpha has a single story, hence no vector.
    assert [row["shared_prompt_count"] for row in rows] == [4, 5]
    for row in rows:
        of = points[row["story_source_name"]]
        model = np.array(list(of.values()))[:, :axis_count]
        human = np.array([points["human"][prompt] for prompt in of])[:, :axis_count]
        hulls = [ConvexHull(model), ConvexHull(human)]
        threshold = 0.5 * np.mean([model.std(axis=0), human.std(axis=0)])
        distance = math.dist(model.mean(axis=0), human.mean(axis=0))
        near = [
            [any(math.dist(one, other) < threshold for other in others) for one in ones]
            for ones, others in (
                (model[hulls[0].vertices], human[hulls[1].vertices]),
                (human[hulls[1].vertices], model[hulls[0].vertices]),
            )
        ]
        overlap = 0.5 * (np.mean(near[0]) + np.mean(near[1]))
        ratio = hulls[0].volume / hulls[1].volume
        assert row["comparison_status"] == "ok"
        assert row["overlap_threshold"] == pytest.approx(threshold, rel=1e-9)
        assert row["overlap_calibration"] == pytest.approx(overlap, abs=1e-12)
        assert row["centroid_distance"] == pytest.approx(distance, abs=1e-9)
        assert row["volume_ratio"] == pytest.approx(ratio, rel=1e-9)
        composite = 0.4 * overlap + 0.3 / (1 + distance) + 0.3 * min(ratio, 1 / ratio)
        assert row["composite_calibration"] == pytest.approx(composite, rel=1e-9)


def test_without_people_there_are_sets_but_no_comparison_and_no_human_frame(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    frames = marts.execute(
        "select distinct coordinate_frame from marts.fct_credal_sets"
        " where study_name = 'generated' order by all"
    ).fetchall()
    assert frames == [("pooled_z",), ("raw",), ("self_z",)]
    rows = query(marts, "select * from marts.fct_credal_overlaps where study_name = 'generated'")
    assert len(rows) == 2 * 4 * 2
    for row in rows:
        assert row["comparison_status"] == "no_human_stories"
        assert (row["overlap_calibration"], row["centroid_distance"]) == (None, None)
        assert (row["volume_ratio"], row["composite_calibration"]) == (None, None)


def test_a_flat_story_source_has_a_volume_ratio_of_zero(marts: duckdb.DuckDBPyConnection) -> None:
    rows = query(
        marts,
        "select * from marts.fct_credal_overlaps where story_source_name = 'flat/cool'"
        " and axis_count = 3",
    )
    assert [(row["comparison_status"], row["volume_ratio"]) for row in rows] == [("ok", 0.0)] * 4


def test_an_imported_vector_has_its_values_and_no_twin(marts: duckdb.DuckDBPyConnection) -> None:
    given = {
        (row["prompt_id"], row["story_source_name"]): row
        for row in all_studies()[2].tables["diversity_vectors"]
    }
    rows = query(marts, "select * from marts.fct_diversity_vectors where origin = 'imported'")
    assert len(rows) == len(given)
    for row in rows:
        expected = given[row["prompt_id"], row["story_source_name"]]
        assert all(row[f"{axis}_diversity"] == expected[f"{axis}_diversity"] for axis in AXES)
        assert (row["diversity_status"], row["length_controlled_status"]) == ("ok", "not_measured")


def test_the_ledger_mart_has_every_story_once(marts: duckdb.DuckDBPyConnection) -> None:
    tables = all_studies()[0].tables
    written = [row for row in tables["stories"] if row["ingest_id"] != "killed"]
    rows = query(marts, "select * from marts.fct_stories where study_name = 'compared'")
    assert sorted(row["story_id"] for row in rows) == sorted(row["story_id"] for row in written)
    selected = {row["text_id"] for row in rows if row["is_selected"]}
    assert selected == {text_id(text) for texts in drawn_texts(0).values() for text in texts}
    assert all(row["is_measured"] == row["is_selected"] for row in rows)


def contents(work_file: Path) -> dict[str, list[tuple[Any, ...]]]:
    with duckdb.connect(work_file, read_only=True) as connection:
        names = connection.execute(
            "select table_name from information_schema.tables where table_schema = 'marts'"
        ).fetchall()
        return {
            name: connection.execute(f'select * from marts."{name}"').fetchall()  # noqa: S608
            for (name,) in names
        }


def test_two_builds_give_identical_bits_in_identical_order(built: Path, rebuilt: Path) -> None:
    # repr shows every bit of a double and tells -0.0 from 0.0.
    first, second = contents(built), contents(rebuilt)
    assert len(first) == 40
    # No language model of these studies has two decoding strategies to decompose.
    empty = {"dim_runs", "fct_variance_decompositions"}
    assert {name for name in first if not first[name]} == empty
    assert {name: repr(rows) for name, rows in first.items()} == {
        name: repr(rows) for name, rows in second.items()
    }


def test_stories_written_here_carry_token_means_and_miss_what_was_requested(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    means = query(
        marts,
        "select distinct scored_token_count, mean_confidence, log_loss_nats,"
        " mean_sampling_confidence, sampling_log_loss_nats, token_probability_status"
        " from marts.fct_stories where study_name = 'written_here'",
    )
    assert [tuple(row.values()) for row in means] == [(2, 0.375, 1.25, 0.5, 0.75, "both")]
    # Of four prompts with three samples each one is missing; what was superseded is not seen.
    ledger = query(marts, "select * from marts.fct_stories where study_name = 'written_here'")
    assert len(ledger) == 11
    missing = query(
        marts,
        "select reason, detail from marts.fct_rejects where study_name = 'written_here'",
    )
    assert [row["reason"] for row in missing] == ["missing_sample"]
    models = query(
        marts,
        "select story_count from marts.dim_language_models where study_name = 'written_here'",
    )
    assert models == [{"story_count": 11}]


def mart_nodes(work_file: Path) -> list[dict[str, Any]]:
    manifest = json.loads((work_file.parent / "target" / "manifest.json").read_bytes())
    return [
        node
        for node in manifest["nodes"].values()
        if node["resource_type"] == "model" and node["schema"] == "marts"
    ]


def test_every_mart_has_a_contract_a_grain_and_a_description_of_every_column(built: Path) -> None:
    with duckdb.connect(built, read_only=True) as connection:
        for node in mart_nodes(built):
            name = node["name"]
            assert node["config"]["contract"]["enforced"], name
            assert node["description"].startswith("One row per "), name
            columns = connection.execute(
                "select column_name, comment from duckdb_columns()"
                " where schema_name = 'marts' and table_name = ?",
                [name],
            ).fetchall()
            assert [column for column, comment in columns if not comment] == [], name
            assert [column for column, _ in columns] == list(node["columns"]), name


def test_every_model_and_test_stands_in_its_layer(built: Path) -> None:
    manifest = json.loads((built.parent / "target" / "manifest.json").read_bytes())
    prefixes = {
        "staging": ("stg_raw__", "stg_udfs__"),
        "intermediate": "int_",
        "marts": ("dim_", "fct_"),
    }
    for node in manifest["nodes"].values():
        if node["resource_type"] == "model":
            assert node["name"].startswith(prefixes[node["schema"]]), node["name"]
            assert node["description"].startswith(("One row per ", "The ledger: one row per "))


def test_sources_have_the_columns_of_the_raw_tables(built: Path) -> None:
    manifest = json.loads((built.parent / "target" / "manifest.json").read_bytes())
    sources = {
        source["name"]: source
        for source in manifest["sources"].values()
        if source["source_name"] == "raw"
    }
    assert set(sources) == {table.name for table in schema.metadata.tables.values()}
    for table in schema.metadata.tables.values():
        described = sources[table.name]["columns"]
        assert list(described) == [column.name for column in table.columns], table.name
        assert all(column["description"] for column in described.values()), table.name
        assert sources[table.name]["description"], table.name
