"""Claims about prediction sets: exact members, coverage on calibrated worlds, and the guarantee."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.finite_worlds import calibrated, random_world
from udfs.prediction_sets import (
    ConformalScore,
    PredictionSetError,
    conformal_coverage,
    conformal_scores,
    conformal_threshold,
    coverage_ceiling,
    is_in_nucleus,
    mass_ahead,
    nucleus,
)

rows_of_sixteenths = st.lists(st.integers(0, 16), min_size=2, max_size=8).filter(any)


@given(rows_of_sixteenths, st.integers(1, 16))
def test_the_nucleus_is_the_shortest_list_that_reaches_its_mass(
    counts: list[int], sixteenths: int
) -> None:
    """By taking outcomes one after the other, in exact fractions."""
    total = sum(counts)
    mass = Fraction(sixteenths, 16)
    kept = Fraction(0)
    size = 0
    for _, count in sorted(enumerate(counts), key=lambda pair: (-pair[1], pair[0])):
        if kept >= mass:
            break
        kept += Fraction(count, total)
        size += 1
    found = nucleus([[count / total for count in counts]], float(mass))
    assert found.prediction_set_size.tolist() == [size]
    assert found.kept_mass[0] == pytest.approx(float(kept), abs=1e-12)


@given(rows_of_sixteenths)
def test_mass_ahead_is_that_of_likelier_outcomes_and_of_equal_ones_with_lower_numbers(
    counts: list[int],
) -> None:
    total = sum(counts)
    expected = [
        sum(c for k, c in enumerate(counts) if (c, -k) > (counts[v], -v)) / total
        for v in range(len(counts))
    ]
    found = mass_ahead([[count / total for count in counts]])[0]
    assert found == pytest.approx(expected, abs=1e-14)
    assert found[int(np.argmax(counts))] == 0.0


def test_rounding_does_not_add_a_third_token_to_a_nucleus_of_0_9() -> None:
    row = (0.6, 0.3, 0.05, 0.03, 0.02)
    assert row[0] + row[1] < 0.9
    found = nucleus([row], 0.9)
    assert found.prediction_set_size.tolist() == [2]
    assert found.kept_mass.tolist() == [row[0] + row[1]]
    assert is_in_nucleus(mass_ahead([row]), 0.9).tolist() == [[True, True, False, False, False]]


def test_on_calibrated_worlds_coverage_equals_kept_mass() -> None:
    """CLM proposition 3: the claim of every nucleus holds on average, exactly."""
    rng = np.random.default_rng(71)
    for _ in range(30):
        world = calibrated(random_world(rng, 30, 6, int(rng.integers(3, 9))))
        for nucleus_mass in (0.25, 0.5, 0.9, 0.99):
            sets = nucleus(world.forecast, nucleus_mass)
            members = is_in_nucleus(mass_ahead(world.forecast), nucleus_mass)
            covered = np.where(members, world.truth, 0.0).sum(axis=1)
            coverage = float(world.context_probability @ covered)
            kept = float(world.context_probability @ sets.kept_mass)
            assert coverage == pytest.approx(kept, abs=1e-12)
            assert kept >= nucleus_mass - 1e-12


def test_an_unknown_token_that_is_last_everywhere_caps_the_coverage() -> None:
    rng = np.random.default_rng(72)
    rows = np.hstack([rng.dirichlet(np.ones(5), size=400) * 0.99, np.full((400, 1), 0.001)])
    rows[:, 0] += 1.0 - rows.sum(axis=1)
    outcome = np.where(rng.random(400) < 0.3, 5, rng.integers(0, 5, size=400))
    for temperature in (0.5, 1.0, 1.5):
        forecast = rows ** (1.0 / temperature)
        forecast /= forecast.sum(axis=1, keepdims=True)
        ahead = np.take_along_axis(mass_ahead(forecast), outcome[:, None], axis=1)
        coverage = is_in_nucleus(ahead, 0.95).mean()
        assert coverage <= coverage_ceiling(float((outcome == 5).mean()))


def test_the_threshold_is_the_ceiling_place_and_infinite_beyond_the_last() -> None:
    scores = np.arange(1, 10) / 10
    assert conformal_threshold(scores, 0.1) == 0.9
    assert conformal_threshold(scores, 0.09) == math.inf
    assert conformal_threshold([], 0.5) == math.inf
    # (9 + 1)(1 − 0.7) is 3.0000000000000004 in doubles and 3 in decimals.
    assert conformal_threshold(scores, 0.7) == 0.3


@given(st.integers(1, 300), st.integers(1, 99))
def test_the_place_is_exact_for_every_whole_percentage(n: int, percent: int) -> None:
    place = math.ceil(Fraction((n + 1) * (100 - percent), 100))
    expected = float(place) if place <= n else math.inf
    assert conformal_threshold(np.arange(1, n + 1), percent / 100) == expected


def test_coverage_is_guaranteed_over_all_orders_of_exchangeable_scores() -> None:
    """Each of n + 1 scores is left out in turn: the covered share is ⌈(n+1)(1−α)⌉/(n+1)."""
    rng = np.random.default_rng(73)
    for n, level in itertools.product((4, 9, 20), (0.1, 0.3, 0.5)):
        scores = rng.random(n + 1)
        covered = sum(
            scores[k] <= conformal_threshold(np.delete(scores, k), level) for k in range(n + 1)
        )
        place = math.ceil((n + 1) * (1 - Fraction(str(level))))
        assert covered == min(place, n + 1)


@pytest.mark.parametrize("score", list(ConformalScore))
def test_a_split_covers_as_promised_however_wrong_the_forecast_is(score: ConformalScore) -> None:
    rng = np.random.default_rng(74)
    truth = rng.dirichlet(np.ones(10), size=8_000)
    outcome = (truth.cumsum(axis=1) < rng.random(8_000)[:, None]).sum(axis=1).clip(0, 9)
    forecast = truth**3 / (truth**3).sum(axis=1, keepdims=True)
    scores = conformal_scores(score, forecast, outcome)
    found = conformal_coverage(scores[::2], scores[1::2], 0.1)
    assert (found.calibration_token_count, found.token_count) == (4_000, 4_000)
    # Two binomial errors of √(0.1·0.9/4000), four of their sds; the nucleus of 0.9 covers less.
    assert found.prediction_set_coverage == pytest.approx(0.9, abs=4 * math.sqrt(2 * 0.09 / 4_000))
    assert is_in_nucleus(conformal_scores(ConformalScore.APS, forecast, outcome), 0.9).mean() < 0.87


def test_an_infinite_threshold_covers_everything() -> None:
    found = conformal_coverage([0.5], [0.1, 1.0], 0.01)
    assert found.conformal_threshold == math.inf
    assert found.prediction_set_coverage == 1.0


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, math.nan])
def test_levels_and_masses_outside_their_range_are_refused(level: float) -> None:
    with pytest.raises(PredictionSetError, match="between 0 and 1"):
        conformal_threshold([0.5], level)
    if level != 1.0:
        with pytest.raises(PredictionSetError, match=r"\(0, 1\]"):
            is_in_nucleus([0.5], level)
    with pytest.raises(PredictionSetError, match="NaN"):
        conformal_threshold([math.nan], 0.5)
