"""Claims about the calibrated twin: exact laws, closed forms, and what redrawing gives."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.stats import binom

from udfs.reliability import ece_plugin
from udfs.reliability_bins import bin_index, reliability_bins
from udfs.twins import (
    EXACT_TWIN_TOKENS,
    CalibratedTwin,
    TwinError,
    calibrated_twin,
    ece_z,
    folded_normal_deviation,
    poisson_binomial,
    poisson_binomial_deviation,
)


def binned(confidence: np.ndarray, bin_count: int) -> list[np.ndarray]:
    index = bin_index(confidence, bin_count)
    return [confidence[index == place] for place in range(bin_count)]


def redrawn_eces(
    rng: np.random.Generator, confidence: np.ndarray, bin_count: int, count: int
) -> np.ndarray:
    draws = (rng.random(len(confidence)) < confidence for _ in range(count))
    return np.array([ece_plugin(reliability_bins(confidence, hits, bin_count)) for hits in draws])


def test_the_poisson_binomial_law_is_that_of_all_outcomes() -> None:
    rng = np.random.default_rng(41)
    for n in range(9):
        coins = rng.random(n)
        expected = np.zeros(n + 1)
        for outcome in itertools.product([0, 1], repeat=n):
            expected[sum(outcome)] += np.where(np.array(outcome) == 1, coins, 1 - coins).prod()
        assert poisson_binomial(coins) == pytest.approx(expected, abs=1e-15)


@pytest.mark.parametrize("hit", [0.0, 0.03, 0.5, 0.999, 1.0])
def test_equal_coins_follow_the_binomial_law(hit: float) -> None:
    expected = binom.pmf(np.arange(300), 299, hit)
    assert poisson_binomial([hit] * 299) == pytest.approx(expected, abs=1e-14)
    # De Moivre's closed form of the mean absolute deviation.
    top = math.floor(299 * hit) + 1
    exact = 2 * top * (1 - hit) * binom.pmf(top, 299, hit)
    assert poisson_binomial_deviation([hit] * 299) == pytest.approx(exact, abs=1e-11)


def test_no_bit_depends_on_the_order_of_tokens() -> None:
    rng = np.random.default_rng(42)
    coins = rng.random(200)
    assert len({poisson_binomial_deviation(rng.permutation(coins)) for _ in range(20)}) == 1


def test_mean_and_sd_of_a_small_twin_are_those_over_all_outcomes() -> None:
    confidence = np.array([0.1, 0.15, 0.4, 0.45, 0.5, 0.8, 0.95, 0.97])
    eces, chances = [], []
    for outcome in itertools.product([0, 1], repeat=len(confidence)):
        hits = np.array(outcome)
        eces.append(ece_plugin(reliability_bins(confidence, hits, 4)))
        chances.append(np.where(hits == 1, confidence, 1 - confidence).prod())
    mean = float(np.dot(chances, eces))
    sd = math.sqrt(float(np.dot(chances, (np.array(eces) - mean) ** 2)))
    twin = calibrated_twin(binned(confidence, 4))
    assert twin.twin_ece_mean == pytest.approx(mean, abs=1e-14)
    assert twin.twin_ece_sd == pytest.approx(sd, abs=1e-14)


def test_the_closed_form_takes_over_where_it_is_off_by_less_than_a_hundredth() -> None:
    """Worst near 0 and 1; for every mean confidence that leaves the twin ten misses, under 1 %."""
    for hit in np.linspace(0.04, 0.5, 24):
        exact = poisson_binomial_deviation([hit] * EXACT_TWIN_TOKENS)
        closed = folded_normal_deviation(EXACT_TWIN_TOKENS * hit * (1 - hit))
        assert closed == pytest.approx(exact, rel=0.01)


@pytest.mark.parametrize("token_count", [830, 23_219])
def test_the_twin_lies_within_3_percent_of_what_redrawing_gives(token_count: int) -> None:
    rng = np.random.default_rng(43)
    confidence = rng.beta(0.8, 0.7, token_count)
    # The mean of 100 redraws has a standard error of 2 %, that of 500 one of 0.9 %.
    eces = redrawn_eces(rng, confidence, 15, 500)
    twin = calibrated_twin(binned(confidence, 15))
    assert twin.twin_ece_mean == pytest.approx(eces.mean(), rel=0.03)
    # An sd of 500 draws has a relative error of 1/√1000 = 3.2 %: three of them.
    assert twin.twin_ece_sd == pytest.approx(eces.std(ddof=1), rel=0.095)


def test_the_sd_does_not_depend_on_the_bin_count_and_the_mean_grows_with_its_root() -> None:
    confidence = np.random.default_rng(44).beta(0.8, 0.7, 30_000)
    twins = {count: calibrated_twin(binned(confidence, count)) for count in (1, 4, 15, 60)}
    sds = [twin.twin_ece_sd for twin in twins.values()]
    assert max(sds) == pytest.approx(min(sds), rel=0.01)
    for count in (4, 15, 60):
        grown = twins[count].twin_ece_mean / twins[1].twin_ece_mean
        assert grown == pytest.approx(math.sqrt(count), rel=0.1)


def test_the_z_of_a_calibrated_language_model_has_mean_0_and_sd_1() -> None:
    rng = np.random.default_rng(45)
    found = []
    for _ in range(200):
        confidence = rng.beta(0.8, 0.7, 3_000)
        hits = rng.random(3_000) < confidence
        twin = calibrated_twin(binned(confidence, 15))
        found.append(ece_z(ece_plugin(reliability_bins(confidence, hits, 15)), twin))
    z = np.array(found, dtype=np.float64)
    # Three standard errors of a mean and of an sd over 200 draws.
    assert abs(z.mean()) < 3 / math.sqrt(200)
    assert abs(z.std(ddof=1) - 1) < 3 / math.sqrt(400)


def test_certain_tokens_have_no_noise_and_no_z() -> None:
    twin = calibrated_twin([[0.0, 0.0], [1.0]])
    assert twin == CalibratedTwin(0.0, 0.0)
    assert ece_z(0.5, twin) is None


def test_a_twin_of_nothing_or_of_no_probabilities_is_refused() -> None:
    with pytest.raises(TwinError, match="at least one token"):
        calibrated_twin([[], []])
    with pytest.raises(TwinError, match=r"in \[0, 1\]"):
        poisson_binomial([0.5, math.nan])
