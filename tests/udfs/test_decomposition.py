"""Claims about scores on finite worlds: the identities of CLM, exactly."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

import numpy as np
import pytest

from udfs.decomposition import ScoreDecomposition, decompose_brier, decompose_log
from udfs.finite_worlds import (
    FiniteWorld,
    FiniteWorldError,
    calibrated,
    finite_world,
    population_ece,
    random_world,
    recalibration,
    top_labels,
)
from udfs.temperature import tempered

CONTEXTS = ("0.1", "0.2", "0.3", "0.25", "0.15")
TRUTH = (
    ("0.7", "0.2", "0.1"),
    ("0.1", "0.6", "0.3"),
    ("0.25", "0.25", "0.5"),
    ("0.4", "0.4", "0.2"),
    ("0.05", "0.15", "0.8"),
)
FORECASTS = (("0.6", "0.3", "0.1"), ("0.2", "0.5", "0.3"), ("0.1", "0.2", "0.7"))
RECEIVED = (0, 1, 2, 0, 2)


@pytest.fixture
def decimal_world() -> FiniteWorld:
    """A world with decimals of few digits: its Brier parts are decimals too."""
    return finite_world(
        [float(p) for p in CONTEXTS],
        [[float(p) for p in row] for row in TRUTH],
        [[float(p) for p in FORECASTS[place]] for place in RECEIVED],
    )


def random_worlds(count: int = 50) -> list[FiniteWorld]:
    rng = np.random.default_rng(51)
    sizes = rng.integers([2, 1, 2], [40, 9, 8], size=(count, 3))
    return [random_world(rng, *map(int, size)) for size in sizes]


def test_a_world_of_decimals_splits_into_the_parts_of_forty_digits(
    decimal_world: FiniteWorld,
) -> None:
    brier, log = decompose_brier(decimal_world), decompose_log(decimal_world)
    assert brier.score == pytest.approx(0.5945, abs=1e-15)
    assert brier.reliability == pytest.approx(0.01875, abs=1e-15)
    assert brier.refinement_gap == pytest.approx(0.024, abs=1e-15)
    assert brier.irreducible == pytest.approx(0.55175, abs=1e-15)
    # By mpmath with 40 digits.
    assert log.score == pytest.approx(1.0002626878, abs=5e-11)
    assert log.reliability == pytest.approx(0.0366463387, abs=5e-11)
    assert log.refinement_gap == pytest.approx(0.0362686578, abs=5e-11)
    assert log.irreducible == pytest.approx(0.9273476913, abs=5e-11)


def test_recalibration_is_the_truth_averaged_in_exact_fractions(decimal_world: FiniteWorld) -> None:
    found = recalibration(decimal_world)
    for place, forecast in enumerate(RECEIVED):
        members = [k for k in range(5) if RECEIVED[k] == forecast]
        mass = sum(Fraction(CONTEXTS[k]) for k in members)
        expected = [
            float(sum(Fraction(CONTEXTS[k]) * Fraction(TRUTH[k][v]) for k in members) / mass)
            for v in range(3)
        ]
        assert found[place] == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("decompose", [decompose_brier, decompose_log])
def test_parts_add_up_to_the_score_and_none_is_negative(
    decompose: Callable[[FiniteWorld], ScoreDecomposition],
) -> None:
    for world in random_worlds():
        parts = decompose(world)
        total = parts.reliability + parts.refinement_gap + parts.irreducible
        assert total == pytest.approx(parts.score, abs=1e-12)
        assert min(parts.reliability, parts.refinement_gap, parts.irreducible) >= -1e-15


@pytest.mark.parametrize("decompose", [decompose_brier, decompose_log])
def test_recalibrating_takes_away_the_reliability_and_nothing_else(
    decompose: Callable[[FiniteWorld], ScoreDecomposition],
) -> None:
    for world in random_worlds():
        before, after = decompose(world), decompose(calibrated(world))
        assert after.reliability == pytest.approx(0.0, abs=1e-14)
        assert before.score - after.score == pytest.approx(before.reliability, abs=1e-13)
        assert after.refinement_gap == pytest.approx(before.refinement_gap, abs=1e-13)


def test_no_temperature_wins_more_than_the_reliability() -> None:
    """CLM corollary 1, 41 temperatures from 1/10 to 10 on 50 worlds."""
    for world in random_worlds():
        parts = decompose_log(world)
        logs = np.log(world.forecast)
        for temperature in 10.0 ** np.linspace(-1.0, 1.0, 41):
            repaired = tempered(logs, float(temperature))
            loss = -float(world.context_probability @ (world.truth * repaired).sum(axis=1))
            assert parts.score - loss <= parts.reliability + 1e-12


def test_population_ece_never_falls_when_bins_are_halved() -> None:
    """CLM theorem 2(a), and the unbinned top-label error is its bound."""
    for world in random_worlds():
        eces = [population_ece(world, 2**power) for power in range(7)]
        for coarse, fine in zip(eces, eces[1:], strict=False):
            assert fine >= coarse - 1e-15
        labels = top_labels(world)
        _, group = np.unique(labels.confidence, return_inverse=True)
        gaps = world.context_probability * (labels.hit_probability - labels.confidence)
        assert eces[-1] <= np.abs(np.bincount(group, weights=gaps)).sum() + 1e-15


def test_a_calibrated_forecast_has_no_population_ece_at_any_bin_count() -> None:
    for world in random_worlds():
        for bin_count in (1, 10, 15, 960):
            assert population_ece(calibrated(world), bin_count) == pytest.approx(0.0, abs=1e-14)


def test_an_impossible_outcome_that_can_come_is_an_infinite_loss_and_refused() -> None:
    world = finite_world([1.0], [[0.5, 0.5]], [[1.0, 0.0]])
    with pytest.raises(FiniteWorldError, match="infinite"):
        decompose_log(world)
    assert decompose_brier(world).score == 1.0


@pytest.mark.parametrize(
    ("contexts", "truth", "forecast"),
    [
        ([0.5, 0.4], [[1.0], [1.0]], [[1.0], [1.0]]),
        ([1.0], [[0.5, 0.4]], [[0.5, 0.5]]),
        ([1.0], [[0.5, 0.5]], [[1.5, -0.5]]),
        ([1.0], [[0.5, 0.5]], [[math.nan, 1.0]]),
        ([1.0], [[0.5, 0.5]], [[1.0]]),
    ],
)
def test_numbers_that_are_no_world_are_refused(contexts, truth, forecast) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(FiniteWorldError, match="must h"):
        finite_world(contexts, truth, forecast)
