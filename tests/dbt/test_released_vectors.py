"""The released vectors of GCV through the marts, against the values its recomputation printed."""

from __future__ import annotations

import duckdb
import pytest

pytestmark = pytest.mark.shared_data


def test_the_human_set_is_counted_once(released: duckdb.DuckDBPyConnection) -> None:
    count, *means = released.execute(
        "select count(*), avg(semantic_diversity), avg(lexical_diversity), avg(syntactic_diversity)"
        " from marts.fct_diversity_vectors where story_source_name = 'human'"
    ).fetchall()[0]
    assert count == 500
    assert means == pytest.approx([0.64549199726, 0.89766576349, 0.9998], abs=5e-12)


def test_three_configurations_are_flat_and_flagged(released: duckdb.DuckDBPyConnection) -> None:
    flat = released.execute(
        "select story_source_name, hull_rank, hull_volume, credal_set_status"
        " from marts.fct_credal_sets where is_degenerate and axis_count = 3"
        " and coordinate_frame = 'pooled_z' order by all"
    ).fetchall()
    assert flat == [
        (name, 2, 0.0, "flat")
        for name in ("GPT2-XL/top_k_40", "Gemma-2B/temperature_1.2", "Gemma-2B/top_k_40")
    ]


@pytest.mark.parametrize(
    ("frame", "axis_count", "volume", "vertex_count"),
    [
        ("raw", 3, 7.150963593e-4, 10),
        ("pooled_z", 3, 0.1302762078, 10),
        ("pooled_z", 2, 1.371645042, 9),
    ],
)
def test_human_hulls_have_the_recomputed_volumes(
    released: duckdb.DuckDBPyConnection,
    frame: str,
    axis_count: int,
    volume: float,
    vertex_count: int,
) -> None:
    found = released.execute(
        "select hull_volume, vertex_count from marts.fct_credal_sets"
        " where story_source_name = 'human' and coordinate_frame = ? and axis_count = ?",
        [frame, axis_count],
    ).fetchall()
    # Ten digits are printed.
    assert found == [(pytest.approx(volume, rel=1e-9), vertex_count)]


@pytest.mark.parametrize(
    ("axis_count", "measure", "expected"),
    [
        (3, "hull_volume", 0.324581793),
        (3, "iou", 0.232791145),
        (2, "iou", 0.475173538),
        (3, "overlap_calibration", 0.0954545),
        (3, "overlap_threshold", 0.0838763978),
        (3, "hausdorff_vertex_distance", 0.605104270),
        (3, "hausdorff_distance", 0.486961716),
        (3, "centroid_distance", 0.440734946),
    ],
)
def test_the_comparison_of_gpt2_at_0_7_has_the_recomputed_measures(
    released: duckdb.DuckDBPyConnection, axis_count: int, measure: str, expected: float
) -> None:
    (found,) = released.execute(
        f"select {measure} from marts.fct_credal_overlaps inner join marts.fct_credal_sets"  # noqa: S608 - written above
        " using (study_name, story_source_name, coordinate_frame, axes, axis_count)"
        " where story_source_name = 'GPT2-XL/temperature_0.7'"
        " and coordinate_frame = 'pooled_z' and axis_count = ?",
        [axis_count],
    ).fetchall()
    # Half a unit of the last digit given.
    assert found == (
        pytest.approx(expected, abs=5e-8 if measure == "overlap_calibration" else 5e-10),
    )


def test_a_flat_configuration_shares_no_volume_and_says_why(
    released: duckdb.DuckDBPyConnection,
) -> None:
    rows = released.execute(
        "select iou, iou_status, volume_ratio from marts.fct_credal_overlaps"
        " where story_source_name = 'GPT2-XL/top_k_40' and axis_count = 3"
    ).fetchall()
    assert rows == [(0.0, "different_ranks", 0.0)] * 4


@pytest.mark.parametrize(
    ("name", "frame", "axes", "expected"),
    [
        ("Gemma-2B/temperature_0.7", "raw", 3, 0.02573),
        ("Gemma-2B/temperature_0.7", "raw", 2, 0.0383),
        ("Gemma-2B/temperature_0.7", "pooled_z", 3, 0.2270),
        ("GPT2-XL/temperature_0.7", "pooled_z", 3, 0.1845),
    ],
)
def test_mean_wasserstein_distances_are_the_recomputed_ones(
    released: duckdb.DuckDBPyConnection, name: str, frame: str, axes: int, expected: float
) -> None:
    (found,) = released.execute(
        "select wasserstein_mean from marts.fct_credal_overlaps where story_source_name = ?"
        " and coordinate_frame = ? and axis_count = ?",
        [name, frame, axes],
    ).fetchall()
    # scipy.stats.wasserstein_distance gives 0.025712 for the first, noted as 0.02573.
    assert found[0] == pytest.approx(expected, abs=5e-5)


def test_llama_varies_where_people_vary_more_than_gpt2_does(
    released: duckdb.DuckDBPyConnection,
) -> None:
    rows = released.execute(
        "select split_part(story_source_name, '/', 1),"
        " round(min(diversity_rank_correlation_semantic), 2),"
        " round(max(diversity_rank_correlation_semantic), 2)"
        " from marts.fct_credal_overlaps group by all order by all"
    ).fetchall()
    # Ranges as GCV-NOTES prints them; the frame changes no rank.
    assert rows == [
        ("GPT2-XL", pytest.approx(0.005, abs=0.0051), 0.19),
        ("Gemma-2B", 0.02, 0.27),
        ("Llama-3.1-8B-Instruct", 0.25, 0.53),
        ("Mistral-7B-Instruct", 0.33, 0.38),
    ]


def test_every_configuration_is_compared_over_all_prompts(
    released: duckdb.DuckDBPyConnection,
) -> None:
    rows = released.execute(
        "select comparison_status, shared_prompt_count, count(*)"
        " from marts.fct_credal_overlaps group by all"
    ).fetchall()
    assert rows == [("ok", 500, 20 * 4 * 2)]


@pytest.mark.parametrize("frame", ["pooled_z", "raw"])
def test_coordinates_vary_as_their_components_say(
    released: duckdb.DuckDBPyConnection, frame: str
) -> None:
    variances = released.execute(
        "select explained_variance from marts.fct_principal_components"
        " where coordinate_frame = ? and fitted_on = 'all' order by component_number",
        [frame],
    ).fetchall()
    found = released.execute(
        "select var_pop(coordinate_1), var_pop(coordinate_2), var_pop(coordinate_3),"
        " corr(coordinate_1, coordinate_2), count(*)"
        " from marts.fct_principal_coordinates where coordinate_frame = ?",
        [frame],
    ).fetchall()[0]
    assert found[:3] == pytest.approx([value for (value,) in variances], rel=1e-9)
    assert found[3] == pytest.approx(0.0, abs=1e-9)
    assert found[4] == 10_500
