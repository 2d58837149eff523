"""What the document found of its trigram, found again on text of this generator.

Its own generator is not published, so signs, orders and bounds are claimed, never its digits.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from flows.language_models.forecast_losses import (
    fitted_temperature,
    temperature_gain,
    unknown_tokens,
)
from flows.language_models.forecasts import Forecasts
from flows.language_models.kneser_ney import kneser_ney_trigram
from flows.language_models.scored_tokens import ScoredTokens, scored_tokens
from flows.language_models.vocabulary import UNKNOWN_ID
from udfs.reliability import ece_plugin
from udfs.reliability_bins import reliability_bins
from udfs.selective_prediction import kendall_tau_b
from udfs.twins import calibrated_twin

DISCOUNT_FACTORS = (0.1, 0.25, 0.5, 1.0, math.inf)


def gap(scored: ScoredTokens, where: NDArray[np.bool_] | None = None) -> float:
    """Accuracy minus mean confidence; negative is overconfident."""
    surplus = scored.is_hit - scored.confidence
    return float(surplus.mean() if where is None else surplus[where].mean())


@pytest.fixture(scope="module")
def refits(world) -> list[Forecasts]:  # type: ignore[no-untyped-def]
    return [
        kneser_ney_trigram(world.vocabulary, world.training, factor).forecast(world.continuation)
        for factor in DISCOUNT_FACTORS
    ]


def test_the_trigram_is_near_calibrated_in_distribution(continuation) -> None:  # type: ignore[no-untyped-def]
    """Printed: 0.522 against 0.527, τ* 1.003, gain below 0.0001 nats.

    The standard error of an accuracy over 23,000 tokens of some 2,000 sentences is about 0.006
    at most; twice that bounds the gap. The gain is bounded as the issue asks.
    """
    scored = scored_tokens(continuation)
    assert abs(gap(scored)) < 0.012
    assert fitted_temperature(continuation).fitted_temperature == pytest.approx(1.0, abs=0.05)
    assert abs(temperature_gain(continuation).temperature_gain_nats or 1.0) < 0.003


def test_the_calibrated_twin_of_real_rows_is_what_a_monte_carlo_finds(continuation) -> None:  # type: ignore[no-untyped-def]
    confidence = scored_tokens(continuation).confidence
    bin_of = np.clip(np.ceil(confidence * 15).astype(int) - 1, 0, 14)
    twin = calibrated_twin([confidence[bin_of == place] for place in range(15)])
    rng = np.random.default_rng(7)
    drawn = [
        ece_plugin(reliability_bins(confidence, rng.random(len(confidence)) < confidence, 15))
        for _ in range(400)
    ]
    # Four standard errors of a mean and of a standard deviation over 400 draws.
    assert twin.twin_ece_mean == pytest.approx(np.mean(drawn), abs=4 * twin.twin_ece_sd / 20)
    assert twin.twin_ece_sd == pytest.approx(np.std(drawn), rel=4 / math.sqrt(800))


def test_the_fitted_temperature_falls_strictly_as_the_discount_grows(refits) -> None:  # type: ignore[no-untyped-def]
    """Printed: 1.542, 1.339, 1.176, 1.003, 0.979."""
    temperatures = [fitted_temperature(each).fitted_temperature for each in refits]
    assert temperatures == sorted(set(temperatures), reverse=True)
    assert temperatures[0] > 1.3
    assert temperatures[-1] < 1.0


def test_the_gap_above_two_thirds_turns_from_negative_to_positive_with_the_discount(refits) -> None:  # type: ignore[no-untyped-def]
    """Printed: −0.006 to +0.016."""
    scores = [scored_tokens(each) for each in refits]
    gaps = [gap(each, each.confidence > 2 / 3) for each in scores]
    assert gaps == sorted(gaps)
    assert gaps[0] < 0.0 < gaps[3] < gaps[4]


def test_known_words_alone_ask_for_a_lower_temperature(continuation) -> None:  # type: ignore[no-untyped-def]
    """Printed: 0.96 against 1.003; the unknown words pull the optimum up."""
    known = continuation.where(~unknown_tokens(continuation))
    on_known = fitted_temperature(known).fitted_temperature
    assert on_known < 1.0
    assert on_known < fitted_temperature(continuation).fitted_temperature - 0.02


def test_temperature_reorders_confidences_over_rows_and_over_tokens(continuation) -> None:  # type: ignore[no-untyped-def]
    """Printed: 0.860 over rows, 0.81 over tokens, between τ = 1 and τ = 2; accuracy stays."""
    cold, warm = scored_tokens(continuation), scored_tokens(continuation, 2.0)
    over_tokens = kendall_tau_b(cold.confidence, warm.confidence)
    _, first = np.unique(continuation.row_of_token, return_index=True)
    over_rows = kendall_tau_b(cold.confidence[first], warm.confidence[first])
    for found in (over_tokens, over_rows):
        assert found is not None
        assert 0.5 < found < 0.99
    assert cold.is_hit.tolist() == warm.is_hit.tolist()


def test_shift_has_no_sign(documents, world, small_world, trigram, continuation) -> None:  # type: ignore[no-untyped-def]
    """One shift makes the trigram over- and a 512-token engine underconfident; its opposite
    reverses both. The gap of the small engine lies on rows whose top label is ``<unk>``."""
    small = kneser_ney_trigram(small_world.vocabulary, small_world.training)
    base = fitted_temperature(continuation).fitted_temperature
    small_base = fitted_temperature(small.forecast(small_world.continuation)).fitted_temperature
    for name, sign in (("more_rare_words", 1), ("fewer_rare_words", -1)):
        full = fitted_temperature(trigram.forecast(getattr(world, name))).fitted_temperature
        forecasts = small.forecast(getattr(small_world, name))
        fitted = fitted_temperature(forecasts).fitted_temperature
        assert base is not None
        assert small_base is not None
        assert full is not None
        assert fitted is not None
        # On either side of 1, and of where the same engine stands in distribution.
        assert sign * (full - 1.0) > 0.01
        assert sign * (full - base) > 0.01
        assert sign * (fitted - 1.0) < -0.01
        assert sign * (fitted - small_base) < -0.01
        scored = scored_tokens(forecasts)
        has_unknown_on_top = scored.top_token_id == UNKNOWN_ID
        assert sign * gap(scored, has_unknown_on_top) > 0.05
        assert abs(gap(scored, ~has_unknown_on_top)) < 0.01


def test_outcomes_drawn_from_the_rows_are_covered_as_often_as_mass_is_kept(continuation) -> None:  # type: ignore[no-untyped-def]
    """Proposition 3: where forecasts are true, coverage is the mean kept mass, at least 0.9."""
    rng = np.random.default_rng(11)
    chance = rng.random(len(continuation.text))
    ordered = np.take_along_axis(continuation.log_probabilities, continuation.order, axis=1)
    cumulative = np.cumsum(np.exp(ordered), axis=1)
    rank = np.array(
        [
            np.searchsorted(cumulative[row], each)
            for row, each in zip(continuation.row_of_token, chance, strict=True)
        ]
    )
    scored = scored_tokens(continuation)
    coverage = float((rank < scored.prediction_set_size).mean())
    kept = float(scored.kept_mass.mean())
    standard_error = math.sqrt(float((scored.kept_mass * (1 - scored.kept_mass)).sum())) / len(rank)
    assert abs(coverage - kept) < 4 * standard_error
    assert kept >= 0.9
