"""Claims about polytopes: closed forms, sampling, quadratic programs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize
from scipy.spatial import ConvexHull

from udfs.credal_sets import credal_set
from udfs.polytopes import (
    IouStatus,
    distances_to_polytope,
    hausdorff_distance,
    hausdorff_vertex_distance,
    intersection_over_union,
)

CUBE = np.array(list(itertools.product([0.0, 1.0], repeat=3)))
SQUARE = np.array(list(itertools.product([0.0, 1.0], repeat=2)))


def rotation(seed: int) -> np.ndarray:
    matrix, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
    return matrix


@pytest.mark.parametrize(
    ("a", "b", "expected"),
    [
        (CUBE, CUBE, 1.0),
        (CUBE, CUBE + 0.5, 1 / 15),
        (CUBE, CUBE / 4, 1 / 64),
        (CUBE, CUBE / 4 + 0.3, 1 / 64),
        (SQUARE, SQUARE + 0.5, 1 / 7),
        (SQUARE, SQUARE * [2.0, 1.0], 1 / 2),
        (np.array([[0.0], [2.0]]), np.array([[1.0], [4.0]]), 1 / 4),
    ],
)
def test_iou_of_boxes_is_their_closed_form(a: np.ndarray, b: np.ndarray, expected: float) -> None:
    assert intersection_over_union(a, b).iou == pytest.approx(expected, abs=1e-11)


def test_touching_and_distant_sets_are_disjoint() -> None:
    for shift in (1.0, 1.5):
        found = intersection_over_union(CUBE, CUBE + np.array([shift, 0.0, 0.0]))
        assert (found.iou, found.iou_status) == (0.0, IouStatus.DISJOINT)


@pytest.mark.parametrize("seed", range(4))
def test_flat_sets_in_one_plane_are_compared_in_it(seed: int) -> None:
    flat = CUBE * [1.0, 1.0, 0.0]
    turn = rotation(seed)
    found = intersection_over_union(
        flat @ turn.T + 3, (flat + np.array([0.5, 0.0, 0.0])) @ turn.T + 3
    )
    assert (found.iou, found.iou_status) == (pytest.approx(1 / 3, abs=1e-9), IouStatus.OK)


def test_flat_sets_elsewhere_share_nothing_and_say_why() -> None:
    flat = CUBE * [1.0, 1.0, 0.0]
    assert intersection_over_union(flat, CUBE).iou_status is IouStatus.DIFFERENT_RANKS
    lifted = flat + np.array([0.0, 0.0, 0.25])
    assert intersection_over_union(flat, lifted).iou_status is IouStatus.DIFFERENT_PLANES
    point = [[0.5, 0.5, 0.5]]
    assert intersection_over_union(point, point).iou == 1.0
    assert intersection_over_union(point, [[0.0, 0.0, 0.0]]).iou == 0.0


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([2, 3]))
def test_iou_survives_affine_maps_swapping_and_row_order(seed: int, axes: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(20, axes)), rng.normal(size=(25, axes)) + 0.3
    matrix = rng.normal(size=(axes, axes)) + 2 * np.eye(axes)
    plain = intersection_over_union(a, b).iou
    assert intersection_over_union(b, a).iou == pytest.approx(plain, abs=1e-10)
    mapped = intersection_over_union(a @ matrix.T + 5, b @ matrix.T + 5).iou
    assert mapped == pytest.approx(plain, abs=1e-8)
    assert intersection_over_union(rng.permutation(a), rng.permutation(b)).iou == plain


def test_iou_agrees_with_sampling() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(40, 3)), rng.normal(size=(40, 3)) * 0.9 + 0.2
    samples = rng.uniform(-4, 4, size=(400_000, 3))
    inside = [
        (hull.equations[:, :-1] @ samples.T + hull.equations[:, -1:] <= 0).all(axis=0)
        for hull in (ConvexHull(a), ConvexHull(b))
    ]
    sampled = (inside[0] & inside[1]).sum() / (inside[0] | inside[1]).sum()
    # About 10,000 of the samples fall in the union: a relative sampling error near 1 %.
    assert intersection_over_union(a, b).iou == pytest.approx(sampled, rel=0.04)


@pytest.mark.parametrize("rank", [0, 1, 2, 3])
def test_distance_to_a_polytope_solves_the_quadratic_program(rank: int) -> None:
    rng = np.random.default_rng(rank)
    points = rng.normal(size=(12, 3)) * ([1.0] * rank + [0.0] * (3 - rank)) @ rotation(rank).T
    polytope = credal_set(points)
    assert polytope.hull_rank == rank
    corners = np.array(polytope.vertices)
    outside = rng.normal(size=(6, 3)) * 3
    for point, found in zip(outside, distances_to_polytope(outside, polytope), strict=True):
        solved = minimize(
            lambda weights, point=point: np.sum((weights @ corners - point) ** 2),
            np.full(len(corners), 1 / len(corners)),
            bounds=[(0, 1)] * len(corners),
            constraints={"type": "eq", "fun": lambda weights: weights.sum() - 1},
            options={"ftol": 1e-14, "maxiter": 500},
        )
        assert found == pytest.approx(np.sqrt(solved.fun), abs=2e-6)


def test_points_inside_are_at_distance_zero() -> None:
    inside = np.random.default_rng(5).uniform(0, 1, size=(50, 3))
    assert distances_to_polytope(inside, credal_set(CUBE)).max() == 0.0


def test_hausdorff_distance_of_boxes_and_of_a_set_inside_another() -> None:
    cube, small = credal_set(CUBE), credal_set(CUBE / 2)
    assert hausdorff_distance(cube, cube) == 0.0
    # The far corner of the cube to the near corner of the small one.
    assert hausdorff_distance(cube, small) == pytest.approx(np.sqrt(3) / 2, abs=1e-15)
    wide = credal_set(SQUARE * [4.0, 1.0])
    middle = credal_set(np.array([[2.0, 0.5], [2.0, 1.0]]))
    assert hausdorff_distance(wide, middle) == pytest.approx(np.hypot(2.0, 0.5), abs=1e-15)


def test_vertex_distance_overstates_a_point_on_a_long_edge() -> None:
    long = credal_set([[0.0, 0.0], [10.0, 0.0], [5.0, -1.0]])
    touching = credal_set([[0.0, 0.0], [10.0, 0.0], [5.0, 0.0], [5.0, -1.0], [5.0, 0.5]])
    assert hausdorff_distance(long, touching) == pytest.approx(0.5, abs=1e-15)
    assert hausdorff_vertex_distance(long, touching) == pytest.approx(1.5, abs=1e-15)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_vertex_distance_is_never_below_the_exact_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = credal_set(rng.normal(size=(9, 3))), credal_set(rng.normal(size=(11, 3)))
    assert hausdorff_vertex_distance(a, b) >= hausdorff_distance(a, b) - 1e-12


@pytest.mark.parametrize("thickness", [1e-3, 1e-7, 2e-10])
def test_a_thin_slab_across_the_axes_covers_itself(thickness: float) -> None:
    rng = np.random.default_rng(2)
    turn, _ = np.linalg.qr(rng.normal(size=(3, 3)))
    slab = (rng.normal(size=(12, 3)) * [1.0, 1.0, thickness]) @ turn
    found = intersection_over_union(slab, slab)
    assert (found.iou, found.iou_status) == (pytest.approx(1.0, abs=1e-6), IouStatus.OK)
    assert found.iou <= 1.0


def test_a_shear_changes_no_iou() -> None:
    rng = np.random.default_rng(3)
    a, b = rng.normal(size=(12, 3)), rng.normal(size=(12, 3)) + 0.5
    shear = np.eye(3) + 1e6 * np.outer([1.0, 1.0, 1.0], [1.0, -0.5, 0.3])
    expected = intersection_over_union(a, b).iou
    # Coordinates of 1e6 keep ten digits of what was 1.
    assert intersection_over_union(a @ shear, b @ shear).iou == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(("scale", "shift"), [(1e-12, 0.0), (1.0, 1e6)])
def test_the_exact_distance_is_the_same_at_any_scale_and_place(scale: float, shift: float) -> None:
    corners = [[0, 0, 0], [4, 0, 0], [0, 4, 0], [4, 4, 0], [0, 0, -4], [4, 4, -4]]
    below = np.array(corners, dtype=float)
    above = np.vstack([below, [[1.9, 2.2, 1.0]]])
    sets = [credal_set(points * scale + shift) for points in (below, above)]
    # The tip stands 1 above the top face.
    assert hausdorff_distance(*sets) == pytest.approx(scale, rel=1e-8)
