"""Claims about credal sets: closed forms, exact arithmetic, scipy, invariances."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial import ConvexHull

from udfs.credal_sets import CredalSetError, credal_set

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


@pytest.mark.parametrize("bad", [[[1, 2], [3]], [["a", "b"]]])
def test_points_with_unequal_axes_or_no_numbers_are_refused(bad: list[object]) -> None:
    with pytest.raises(CredalSetError, match="must be numbers, as many in every row"):
        credal_set(bad)  # type: ignore[arg-type]


@pytest.mark.parametrize(("scale", "sentence"), [(1e120, "within 1e"), (1e-120, "at least 1e-100")])
def test_points_beyond_double_precision_are_refused_rather_than_measured_as_0(
    scale: float, sentence: str
) -> None:
    with pytest.raises(CredalSetError, match=sentence):
        credal_set(CUBE * scale)


@pytest.mark.parametrize("scale", [1e-60, 1e-9, 1e9, 1e60])
def test_no_scale_within_them_changes_what_is_a_vertex(scale: float) -> None:
    found = credal_set(CUBE * scale)
    assert (found.hull_rank, found.vertex_count) == (3, 8)
    assert found.hull_volume == pytest.approx(scale**3, rel=1e-13)


def test_zeros_of_either_sign_are_one_point() -> None:
    found = credal_set([[0.0, -0.0], [-0.0, 0.0]])
    assert found == credal_set([[-0.0, -0.0]])
    assert math.copysign(1.0, found.vertices[0][1]) == 1.0


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from([1.0, 0.5, 0.1, 1 / 3]))
def test_vertices_on_a_lattice_are_the_extreme_points_of_exact_arithmetic(
    seed: int, scale: float
) -> None:
    """Prompts with ten stories give lattices: many points on one face, edge or place."""
    rng = np.random.default_rng(seed)
    lattice = rng.integers(0, rng.integers(2, 6), size=(rng.integers(4, 10), 3))
    found = credal_set(lattice * scale)
    if found.hull_rank == 3:
        expected = {tuple((np.array(corner) * scale).tolist()) for corner in extreme(lattice)}
        assert set(found.vertices) == expected


def extreme(lattice: np.ndarray) -> set[tuple[int, ...]]:
    """Points outside the hull of the others: none of their tetrahedra, in integers, holds them."""
    distinct = np.unique(lattice, axis=0).astype(int)
    return {
        tuple(point)
        for place, point in enumerate(distinct.tolist())
        if not in_hull(point, np.delete(distinct, place, axis=0))
    }


def in_hull(point: list[int], others: np.ndarray) -> bool:
    """Whether *point* is in a simplex of *others*, by Caratheodory's theorem; flat ones too."""
    for size in (2, 3, 4):
        for corners in itertools.combinations(others - np.array(point), size):
            if origin_in_simplex([tuple(map(int, corner)) for corner in corners]):
                return True
    return False


def origin_in_simplex(corners: list[tuple[int, ...]]) -> bool:
    """Whether weights at or above 0 that sum to 1 take *corners* to 0, in exact fractions."""
    columns = [[Fraction(value) for value in (*corner, 1)] for corner in corners]
    weights = solve(columns, [Fraction(0)] * 3 + [Fraction(1)])
    return weights is not None and min(weights) >= 0


def solve(columns: list[list[Fraction]], target: list[Fraction]) -> list[Fraction] | None:
    """Solve for the only weights by Gauss-Jordan; None where there are none or many."""
    rows = [[column[k] for column in columns] + [target[k]] for k in range(len(target))]
    for place in range(len(columns)):
        pivot = next((k for k in range(place, len(rows)) if rows[k][place]), None)
        if pivot is None:
            return None
        rows[place], rows[pivot] = rows[pivot], rows[place]
        rows[place] = [value / rows[place][place] for value in rows[place]]
        for other in range(len(rows)):
            if other != place and rows[other][place]:
                factor = rows[other][place]
                rows[other] = [
                    a - factor * b for a, b in zip(rows[other], rows[place], strict=True)
                ]
    if any(row[-1] for row in rows[len(columns) :]):
        return None
    return [row[-1] for row in rows[: len(columns)]]


@pytest.mark.parametrize("thinness", [1e-2, 1e-6, 1e-9])
def test_a_thin_set_keeps_the_vertices_and_the_volume_of_the_thick_one(thinness: float) -> None:
    points = np.random.default_rng(14).normal(size=(300, 3))
    thick, thin = credal_set(points), credal_set(points * [1.0, 1.0, thinness])
    assert (thin.hull_rank, thin.vertex_count) == (3, thick.vertex_count)
    assert thin.hull_volume == pytest.approx(thick.hull_volume * thinness, rel=1e-9)


@pytest.mark.parametrize("seed", range(4))
def test_rounding_that_a_rotation_leaves_is_no_third_dimension(seed: int) -> None:
    flat = np.column_stack([np.random.default_rng(seed).normal(size=(500, 2)), np.zeros(500)])
    turned = credal_set(flat @ rotation(seed).T + 0.7)
    assert (turned.hull_rank, turned.hull_volume) == (2, 0.0)
    assert turned.singular_values[2] < turned.rank_tolerance
    straight = credal_set(flat[:, :2])
    assert turned.vertex_count == straight.vertex_count
    assert turned.hull_measure == pytest.approx(straight.hull_volume, rel=1e-12)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 200])
def test_singular_values_are_those_of_the_centred_points(count: int) -> None:
    points = np.random.default_rng(count).normal(size=(count, 3)) * [1.0, 1e-3, 10.0]
    expected = np.linalg.svd(points - points.mean(axis=0), compute_uv=False)
    found = np.array(credal_set(points).singular_values)
    # What rounding leaves of a direction that the points do not span is 1e-16 of the largest.
    assert found == pytest.approx(np.pad(expected, (0, 3 - len(expected))), rel=1e-12, abs=1e-13)


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_the_hull_of_the_vertices_is_the_same_hull(seed: int) -> None:
    found = credal_set(np.random.default_rng(seed).normal(size=(60, 3)))
    again = credal_set(found.vertices)
    assert again.vertices == found.vertices
    assert again.hull_volume == pytest.approx(found.hull_volume, rel=1e-12)
