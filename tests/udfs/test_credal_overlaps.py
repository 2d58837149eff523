"""Claims about the comparison of two credal sets: closed forms, symmetry, invariance."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.credal_overlaps import composite_calibration, credal_overlap, vertex_overlap
from udfs.credal_sets import CredalSetError

CUBE = np.array(list(itertools.product([0.0, 1.0], repeat=3)))


@settings(max_examples=25)
@given(st.integers(0, 10_000))
def test_swapping_the_sets_keeps_overlap_and_distance_and_inverts_the_ratio(seed: int) -> None:
    rng = np.random.default_rng(seed)
    human, source = rng.normal(size=(30, 3)), rng.normal(size=(20, 3)) + 0.2
    found, swapped = credal_overlap(human, source), credal_overlap(source, human)
    assert swapped.overlap_calibration == found.overlap_calibration
    assert swapped.centroid_distance == found.centroid_distance
    assert swapped.overlap_threshold == found.overlap_threshold
    assert found.volume_ratio is not None
    assert swapped.volume_ratio == pytest.approx(1 / found.volume_ratio, rel=1e-12)
    assert swapped.composite_calibration == pytest.approx(found.composite_calibration, rel=1e-12)
    assert found.composite_calibration is not None
    for share in (found.overlap_calibration, found.composite_calibration):
        assert 0.0 <= share <= 1.0


def test_threshold_is_taken_from_all_points_and_not_from_the_vertices() -> None:
    inside = np.vstack([CUBE, np.full((24, 3), 0.5)])
    # A quarter of the points, each 1/2 off on every axis: variance 1/16, sd 1/4.
    assert credal_overlap(inside, inside).overlap_threshold == 0.125
    assert credal_overlap(inside, CUBE).overlap_threshold == 0.1875
    assert credal_overlap(inside, CUBE).overlap_threshold_half_mean_variance == 0.5 * (
        (1 / 16 + 1 / 4) / 2
    )


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
