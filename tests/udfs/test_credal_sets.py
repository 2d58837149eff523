"""Claims about credal sets and their comparison: closed forms, oracles, invariances."""

from __future__ import annotations

import itertools
import math

import duckdb
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from udfs.credal_overlaps import composite_calibration, credal_overlap, vertex_overlap
from udfs.credal_sets import CredalSetError, credal_set
from udfs.frames import FrameError, axis_scale
from udfs.registry import register_all

CUBE = np.array(list(itertools.product([0.0, 1.0], repeat=3)))


def rotation(seed: int) -> np.ndarray:
    matrix, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return matrix


def test_a_cube_has_its_volume_and_eight_vertices_whatever_lies_inside() -> None:
    inside = np.random.default_rng(1).uniform(0.1, 0.9, size=(200, 3))
    found = credal_set(np.vstack([inside, 2 * CUBE]))
    assert (found.hull_rank, found.vertex_count, found.is_degenerate) == (3, 8, False)
    assert found.hull_volume == found.hull_measure == pytest.approx(8.0, abs=1e-14)
    assert np.array_equal(np.array(found.vertices), 2 * CUBE)


def test_a_simplex_has_one_sixth_of_the_cube() -> None:
    simplex = np.vstack([np.zeros(3), np.eye(3)])
    assert credal_set(simplex).hull_volume == pytest.approx(1 / 6, abs=1e-15)


@pytest.mark.parametrize("seed", range(5))
def test_a_tilted_square_has_rank_two_its_area_and_no_volume(seed: int) -> None:
    square = np.array([[0, 0, 0], [3, 0, 0], [0, 3, 0], [3, 3, 0], [1, 2, 0]], dtype=float)
    found = credal_set(square @ rotation(seed).T + 7.0)
    assert (found.hull_rank, found.hull_volume, found.is_degenerate) == (2, 0.0, True)
    assert found.vertex_count == 4
    assert found.hull_measure == pytest.approx(9.0, abs=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_a_tilted_segment_has_rank_one_its_length_and_two_vertices(seed: int) -> None:
    direction = rotation(seed)[0]
    points = np.outer([0.0, 1.0, 4.0, 2.5], direction) - 3.0
    found = credal_set(points)
    assert (found.hull_rank, found.hull_volume, found.vertex_count) == (1, 0.0, 2)
    assert found.hull_measure == pytest.approx(4.0, abs=1e-12)


@pytest.mark.parametrize("count", [1, 2, 100])
def test_identical_points_are_one_point(count: int) -> None:
    found = credal_set([[0.1, 0.2, 0.3]] * count)
    assert (found.hull_rank, found.hull_measure, found.hull_volume) == (0, 1.0, 0.0)
    assert found.vertices == ((0.1, 0.2, 0.3),)
    assert found.is_degenerate


def test_two_and_three_points_are_a_segment_and_a_triangle() -> None:
    assert credal_set([[0, 0, 0], [0, 3, 4]]).hull_measure == 5.0
    triangle = credal_set([[0, 0, 1], [4, 0, 1], [0, 3, 1]])
    assert (triangle.hull_rank, triangle.hull_measure) == (2, pytest.approx(6.0, abs=1e-14))


def test_one_axis_gives_the_range() -> None:
    found = credal_set([[0.5], [0.25], [0.75]])
    assert (found.hull_rank, found.hull_volume, found.is_degenerate) == (1, 0.5, False)


@pytest.mark.parametrize("axes", [2, 3])
def test_volume_and_vertices_equal_those_of_scipy_in_general_position(axes: int) -> None:
    points = np.random.default_rng(2).normal(size=(300, axes))
    hull = ConvexHull(points)
    found = credal_set(points)
    assert found.hull_volume == pytest.approx(hull.volume, rel=1e-12)
    assert {tuple(row) for row in points[hull.vertices]} == set(found.vertices)


@settings(max_examples=40)
@given(st.integers(0, 10_000), st.integers(4, 40))
def test_neither_row_order_nor_repeated_rows_change_a_bit(seed: int, count: int) -> None:
    rng = np.random.default_rng(seed)
    points = rng.normal(size=(count, 3)).round(2)
    again = np.vstack([points, points[: count // 2]])[rng.permutation(count + count // 2)]
    assert credal_set(again) == credal_set(points)


@settings(max_examples=40)
@given(st.integers(0, 10_000))
def test_volume_scales_with_the_determinant_of_an_affine_map(seed: int) -> None:
    rng = np.random.default_rng(seed)
    points, matrix = rng.normal(size=(30, 3)), rng.normal(size=(3, 3)) + 2 * np.eye(3)
    mapped = credal_set(points @ matrix.T + rng.normal(size=3))
    expected = abs(np.linalg.det(matrix)) * credal_set(points).hull_volume
    assert mapped.hull_volume == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("constant", [1.0, 0.1, 1 / 3, 1e6 + 0.1])
def test_an_axis_that_is_constant_stays_flat_after_any_scaling(constant: float) -> None:
    rng = np.random.default_rng(3)
    points = np.column_stack([rng.normal(size=(500, 2)), np.full(500, constant)])
    scaled = (points - [0.3, 0.7, 0.9998]) / [0.05, 0.01, 0.0131]
    found = credal_set(scaled)
    assert (found.hull_rank, found.hull_volume) == (2, 0.0)


def test_one_prompt_off_the_plane_makes_a_volume() -> None:
    """As in the released human vectors, whose third axis differs for one prompt of 500."""
    square = [[0, 0, 1], [1, 0, 1], [0, 1, 1], [1, 1, 1]]
    assert credal_set([*square, [0.5, 0.5, 0.9]]).hull_volume == pytest.approx(0.1 / 3, abs=1e-15)


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_coordinate_that_is_not_finite_is_refused_with_its_place(bad: float) -> None:
    with pytest.raises(CredalSetError, match="in row 1, axis 2"):
        credal_set([[0, 0, 0], [0, 0, bad], [1, 1, 1]])


@pytest.mark.parametrize("bad", [[], [[]], [[1, 2, 3, 4]], [1.0, 2.0]])
def test_what_is_no_table_of_one_to_three_axes_is_refused(bad: list[object]) -> None:
    with pytest.raises(CredalSetError, match="one to three axes"):
        credal_set(bad)  # type: ignore[arg-type]


def test_overlap_of_a_set_with_itself_is_perfect() -> None:
    points = np.random.default_rng(4).normal(size=(50, 3))
    same = credal_overlap(points, points)
    assert same.overlap_calibration == 1.0
    assert same.centroid_distance == 0.0
    assert same.volume_ratio == 1.0
    assert same.composite_calibration == pytest.approx(1.0, abs=1e-15)


def test_a_shifted_cube_overlaps_by_threshold_and_moves_its_centroid() -> None:
    # A unit cube has sd 1/2 on every axis: half the mean sd is 1/4, half the mean variance 1/8.
    near = credal_overlap(CUBE, CUBE + np.array([0.1875, 0.0, 0.0]))
    assert near.overlap_threshold == 0.25
    assert near.overlap_threshold_half_mean_variance == 0.125
    assert near.overlap_calibration == 1.0
    assert near.overlap_calibration_half_mean_variance == 0.0
    assert near.centroid_distance == 0.1875


def test_a_vertex_exactly_at_the_threshold_does_not_count() -> None:
    assert credal_overlap(CUBE, CUBE + np.array([0.25, 0.0, 0.0])).overlap_calibration == 0.0
    assert vertex_overlap(np.array([[1.0]]), 1.0) == 0.0


def test_overlap_averages_the_two_shares() -> None:
    # One of two story-source vertices is near; one of three human ones is.
    distances = np.array([[0.1, 5.0, 5.0], [5.0, 5.0, 5.0]])
    assert vertex_overlap(distances, 1.0) == pytest.approx((1 / 2 + 1 / 3) / 2, abs=1e-16)


def test_volume_ratio_is_source_over_human() -> None:
    assert credal_overlap(CUBE, 2 * CUBE).volume_ratio == pytest.approx(8.0, abs=1e-13)


def test_a_flat_source_has_ratio_zero_and_a_flat_human_set_has_none() -> None:
    flat = CUBE * [1.0, 1.0, 0.0]
    assert credal_overlap(CUBE, flat).volume_ratio == 0.0
    assert credal_overlap(CUBE, flat).composite_calibration is not None
    against_flat = credal_overlap(flat, CUBE)
    assert against_flat.volume_ratio is None
    assert against_flat.composite_calibration is None


@settings(max_examples=30)
@given(st.integers(0, 10_000))
def test_volume_ratio_survives_affine_maps_and_everything_survives_row_order(seed: int) -> None:
    rng = np.random.default_rng(seed)
    human, source = rng.normal(size=(25, 3)), rng.normal(size=(30, 3)) * 1.5
    matrix = rng.normal(size=(3, 3)) + 2 * np.eye(3)
    mapped = credal_overlap(human @ matrix.T, source @ matrix.T)
    plain = credal_overlap(human, source)
    assert mapped.volume_ratio == pytest.approx(plain.volume_ratio, rel=1e-8)
    shuffled = credal_overlap(human[rng.permutation(25)], source[rng.permutation(30)])
    assert shuffled == plain


@pytest.mark.parametrize(
    ("overlap", "distance", "ratio", "expected"),
    [(1.0, 0.0, 1.0, 1.0), (0.0, 1.0, 0.5, 0.3), (0.5, 3.0, 4.0, 0.35), (0.0, 0.0, 0.0, 0.3)],
)
def test_composite_is_the_weighted_sum(
    overlap: float, distance: float, ratio: float, expected: float
) -> None:
    assert composite_calibration(overlap, distance, ratio) == pytest.approx(expected, abs=1e-15)


def test_sets_of_different_axes_are_refused() -> None:
    with pytest.raises(CredalSetError, match=r"got 3 \(human\) and 2"):
        credal_overlap(CUBE, CUBE[:, :2])


def test_scale_is_the_population_sd_with_the_same_bits_in_any_order() -> None:
    rng = np.random.default_rng(9)
    values = rng.normal(0.9, 0.01, size=10_500)
    scale = axis_scale(values)
    assert scale.mean == pytest.approx(np.mean(values), rel=1e-14)
    assert scale.sd == pytest.approx(np.std(values, ddof=0), rel=1e-12)
    assert len({axis_scale(rng.permutation(values)) for _ in range(20)}) == 1


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1 / 3])
def test_a_constant_axis_has_sd_exactly_zero(value: float) -> None:
    assert axis_scale([value] * 500).sd == 0.0


def test_an_axis_without_finite_values_is_refused() -> None:
    with pytest.raises(FrameError, match="in place 1"):
        axis_scale([1.0, math.nan])
    with pytest.raises(FrameError, match="got none"):
        axis_scale([])


def test_sql_gives_the_same_set_as_python() -> None:
    connection = duckdb.connect()
    register_all(connection)
    points = np.random.default_rng(10).normal(size=(40, 3))
    row = connection.execute("select credal_set($points)", {"points": points.tolist()}).fetchone()
    expected = credal_set(points)
    assert row is not None
    assert row[0]["hull_volume"] == expected.hull_volume
    assert row[0]["vertices"] == [list(vertex) for vertex in expected.vertices]


def test_sql_error_carries_the_sentence() -> None:
    connection = duckdb.connect()
    register_all(connection)
    with pytest.raises(duckdb.InvalidInputException, match="must be finite, got nan in row 0"):
        connection.execute("select credal_set([[0, 'nan'::double, 1]]::double[][])").fetchall()
