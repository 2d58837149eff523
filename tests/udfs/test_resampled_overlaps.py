"""Claims about resampled comparisons: each draw is the plain comparison of the drawn points."""

from __future__ import annotations

from dataclasses import asdict

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.credal_overlaps import credal_overlap
from udfs.credal_sets import CredalSetError
from udfs.hull_batches import hull_of_rows
from udfs.hull_intersections import iou_of_hulls
from udfs.paired_comparisons import paired_comparison
from udfs.polytopes import intersection_over_union
from udfs.resampled_overlaps import (
    ResampledMeasure,
    bootstrap_overlaps,
    split_half_overlaps,
)
from udfs.resampling import bootstrap_rows, half_rows

UNITS = np.array([[1.0, 1.0, 1.0], [4.0, 0.5, 2.0]])


def two_sets(seed: int, axes: int, *, is_flat: bool) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    human, source = rng.normal(size=(40, axes)), rng.normal(size=(40, axes)) * 0.8 + 0.3
    if is_flat:
        # As released syntactic diversity: one human prompt off the plane, no generated one.
        human[1:, -1], source[:, -1] = 1.0, 1.0
    return human, source


def by_name(measures: list[ResampledMeasure], frame_index: int) -> dict[str, np.ndarray]:
    return {each.measure_name: each.draws for each in measures if each.frame_index == frame_index}


@pytest.mark.parametrize("is_flat", [False, True])
@pytest.mark.parametrize("axes", [2, 3])
def test_every_bootstrap_draw_is_the_plain_comparison_of_the_drawn_points(
    axes: int, is_flat: bool
) -> None:
    human, source = two_sets(axes, axes, is_flat=is_flat)
    # In the last frame an axis is constant: both sets are flat there.
    units = np.vstack([UNITS[:, :axes], [3.0, 2.0, 0.0][-axes:]])
    found = bootstrap_overlaps(human, source, units, 20, 5)
    for frame_index, unit in enumerate(units):
        measures = by_name(found, frame_index)
        for draw, rows in enumerate(bootstrap_rows(40, 20, 5)):
            plain = asdict(credal_overlap(human[rows] * unit, source[rows] * unit))
            for name in measures.keys() & plain.keys():
                expected = np.nan if plain[name] is None else plain[name]
                close = pytest.approx(expected, abs=1e-9, nan_ok=True)
                assert measures[name][draw] == close, (name, draw)
            paired = paired_comparison(human[rows] * unit, source[rows] * unit)
            assert measures["wasserstein_mean"][draw] == pytest.approx(paired.wasserstein_mean)
            correlation = measures["diversity_rank_correlation"][draw]
            expected = paired.rank_correlation_mean
            assert correlation == pytest.approx(
                np.nan if expected is None else expected, nan_ok=True
            )


def test_a_split_compares_people_on_one_half_with_the_set_on_the_other() -> None:
    human, source = two_sets(7, 3, is_flat=False)
    measures = by_name(split_half_overlaps(human, source, UNITS, 10, 3), 0)
    for draw, (first, second) in enumerate(zip(*half_rows(40, 10, 3), strict=True)):
        assert not set(first) & set(second)
        plain = credal_overlap(human[first], source[second])
        assert measures["iou"][draw] == pytest.approx(plain.iou, abs=1e-9)
        assert measures["overlap_calibration"][draw] == plain.overlap_calibration
    assert "diversity_rank_correlation" not in measures


def test_hulls_of_resamples_lie_inside_the_original_and_are_smaller() -> None:
    human, _ = two_sets(1, 2, is_flat=False)
    whole = hull_of_rows(human, np.arange(40)).hull_volume
    drawn = [hull_of_rows(human, rows).hull_volume for rows in bootstrap_rows(40, 200, 1)]
    assert max(drawn) <= whole
    assert np.mean(drawn) < 0.95 * whole


def test_human_halves_of_one_law_agree_with_fresh_samples_of_it() -> None:
    """Split halves of 2n estimate what two independent samples of n reach (Monte Carlo)."""
    rng = np.random.default_rng(2)
    human = rng.normal(size=(1000, 2))
    split = by_name(split_half_overlaps(human, human, UNITS[:, :2], 100, 1), 0)["iou"].mean()
    fresh = np.mean(
        [
            intersection_over_union(rng.normal(size=(500, 2)), rng.normal(size=(500, 2))).iou
            for _ in range(60)
        ]
    )
    # One sample of 1,000 has its own outliers: the spread of such means is about 0.03.
    assert split == pytest.approx(fresh, abs=0.1)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from([2, 3]))
def test_clipping_edges_agrees_with_intersecting_half_spaces(seed: int, axes: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(15, axes)), rng.normal(size=(12, axes)) + rng.uniform(0, 2)
    hulls = hull_of_rows(a, np.arange(15)), hull_of_rows(b, np.arange(12))
    found = iou_of_hulls(a, hulls[0], b, hulls[1])
    assert found == pytest.approx(intersection_over_union(a, b).iou, abs=1e-9)
    assert iou_of_hulls(b, hulls[1], a, hulls[0]) == pytest.approx(found, abs=1e-12)
    assert iou_of_hulls(a, hulls[0], a, hulls[0]) == pytest.approx(1.0, abs=1e-12)


@pytest.mark.parametrize("seed", [93, 142, 170])
def test_edges_that_cross_in_one_point_give_a_corner(seed: int) -> None:
    """On a grid edges meet: a corner lost there made the intersection too small by up to 0.04."""
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(0, 3, (6, 3)).astype(float) for _ in range(2))
    rows = np.arange(6)
    found = iou_of_hulls(a, hull_of_rows(a, rows), b, hull_of_rows(b, rows))
    assert found == pytest.approx(intersection_over_union(a, b).iou, abs=1e-9)


def test_halves_of_too_few_prompts_have_no_volume_to_compare() -> None:
    human, source = two_sets(4, 2, is_flat=False)
    measures = by_name(split_half_overlaps(human[:5], source[:5], UNITS[:, :2], 20, 1), 0)
    for name in ("iou", "hull_volume", "volume_ratio", "composite_calibration"):
        assert np.isnan(measures[name]).all(), name
    assert not np.isnan(measures["wasserstein_mean"]).any()


def test_equal_seeds_give_equal_bits_and_other_seeds_do_not() -> None:
    human, source = two_sets(3, 3, is_flat=False)
    draws = [
        [each.draws.tobytes() for each in bootstrap_overlaps(human, source, UNITS, 8, seed)]
        for seed in (1, 1, 2)
    ]
    assert draws[0] == draws[1] != draws[2]


@pytest.mark.parametrize("count", [4, 5])
def test_few_prompts_give_draws_and_no_exception(count: int) -> None:
    points = np.arange(3.0 * count).reshape(count, 3) % 4
    assert bootstrap_overlaps(points, points[::-1], UNITS, 30, 1)
    assert split_half_overlaps(points, points[::-1], UNITS, 30, 1)


def test_sets_of_other_shapes_are_refused_with_both() -> None:
    with pytest.raises(CredalSetError, match=r"got shapes \(2, 2\) .* \(1, 2\)"):
        bootstrap_overlaps([[0.0, 0.0], [1.0, 1.0]], [[0.0, 0.0]], [[1.0, 1.0]], 3, 1)
