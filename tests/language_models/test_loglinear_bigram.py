"""Claims about the penalised bigram: Theorem 3, and scipy as an oracle on a small vocabulary."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp

from flows.corpora.synthetic_filings import FilingGenerator, FilingSettings
from flows.language_models.errors import PenaltyError
from flows.language_models.forecast_losses import DistinctRows, fitted_temperature
from flows.language_models.loglinear_bigram import (
    PENALTIES,
    LoglinearBigram,
    fit_loglinear_bigrams,
)
from flows.language_models.vocabulary import EncodedText, Vocabulary, encode, vocabulary_of


@pytest.fixture(scope="module")
def bigrams(small_world) -> list[LoglinearBigram]:  # type: ignore[no-untyped-def]
    return fit_loglinear_bigrams(small_world.vocabulary, small_world.training)


def counts_of(vocabulary: Vocabulary, text: EncodedText) -> np.ndarray:
    counts = np.zeros((vocabulary.outcome_count + 1, vocabulary.outcome_count))
    np.add.at(counts, (text.previous(vocabulary.begin_id), text.token_id), 1)
    return counts


def objective(weights: np.ndarray, counts: np.ndarray, penalty: float) -> float:
    surprise = (counts * (logsumexp(weights, axis=1, keepdims=True) - weights)).sum()
    return float(surprise / counts.sum() + 0.5 * penalty * (weights**2).sum())


def test_the_derivative_at_1_is_minus_penalty_times_squared_norm(bigrams, small_world) -> None:  # type: ignore[no-untyped-def]
    """Six decimals at ten penalties, as printed; the bound |∇J|·|W| leaves some 1e-8."""
    assert [each.penalty for each in bigrams] == list(PENALTIES)
    assert len(bigrams) == 10
    for bigram in bigrams:
        derivative = DistinctRows(bigram.forecast(small_world.training)).at(1.0).gradient
        by_theorem = -bigram.penalty * float((bigram.weights**2).sum())
        assert derivative < 0.0
        assert derivative == pytest.approx(by_theorem, abs=5e-7)
        assert bigram.derivative_by_theorem == pytest.approx(by_theorem, rel=1e-12)


def test_the_training_temperature_rises_towards_1_as_the_penalty_falls(
    bigrams, small_world
) -> None:  # type: ignore[no-untyped-def]
    temperatures = [
        fitted_temperature(bigram.forecast(small_world.training)).fitted_temperature
        for bigram in bigrams
    ]
    assert temperatures == sorted(temperatures)
    assert len(set(temperatures)) == 10
    # The printed ends of the row: 0.234 at 1e-2, 0.984 at 1e-7.
    assert temperatures[0] < 0.3
    assert 0.97 < temperatures[-1] < 1.0


def test_the_temperature_of_other_text_crosses_1_and_so_is_not_pinned(bigrams, small_world) -> None:  # type: ignore[no-untyped-def]
    ends = [
        fitted_temperature(bigram.forecast(small_world.continuation)).fitted_temperature
        for bigram in (bigrams[0], bigrams[-1])
    ]
    assert ends[0] < 1.0 < ends[1]


@pytest.mark.parametrize("penalty", [1e-2, 1e-4])
def test_newton_finds_what_l_bfgs_finds(penalty: float) -> None:
    documents = FilingGenerator(FilingSettings(), np.random.default_rng(5)).documents(4)
    vocabulary = vocabulary_of(documents, 20)
    text = encode(vocabulary, documents)
    counts = counts_of(vocabulary, text)
    (bigram,) = fit_loglinear_bigrams(vocabulary, text, [penalty])
    found = minimize(
        lambda flat: objective(flat.reshape(counts.shape), counts, penalty),
        np.zeros(counts.size),
        method="L-BFGS-B",
        options={"maxiter": 5_000, "maxfun": 10**6, "ftol": 1e-15, "gtol": 1e-7},
    )
    ours = objective(bigram.weights, counts, penalty)
    # J is λ-strongly convex: a gap of e in J leaves at most √(2e/λ) between the weights.
    assert ours <= found.fun + 1e-13
    assert found.fun - ours < 1e-6
    distance = np.linalg.norm(bigram.weights.ravel() - found.x)
    assert distance <= math.sqrt(2 * max(found.fun - ours, 1e-13) / penalty) + 1e-6


def test_without_a_penalty_there_is_no_finite_optimum(bigrams, small_world) -> None:  # type: ignore[no-untyped-def]
    """Wherever one stands, pushing the pairs that never came further down lowers the loss, and
    the loss of a text that holds one of them grows without bound."""
    with pytest.raises(PenaltyError, match="no finite optimum"):
        fit_loglinear_bigrams(small_world.vocabulary, small_world.training, [0.0])
    counts = counts_of(small_world.vocabulary, small_world.training)
    never = counts == 0
    new = counts_of(small_world.vocabulary, small_world.continuation)
    assert (new[never] > 0).any()
    losses = [
        [objective(bigrams[-1].weights - push * never, each, 0.0) for push in (0.0, 2.0, 4.0)]
        for each in (counts, new)
    ]
    assert losses[0] == sorted(losses[0], reverse=True)
    assert len(set(losses[0])) == 3
    assert losses[1] == sorted(losses[1])


def test_a_token_that_nothing_followed_forecasts_evenly() -> None:
    documents = FilingGenerator(FilingSettings(), np.random.default_rng(5)).documents(1)
    vocabulary = Vocabulary((*vocabulary_of(documents, 20).words, "zebra"))
    (bigram,) = fit_loglinear_bigrams(vocabulary, encode(vocabulary, documents), [1e-3])
    assert not bigram.weights[vocabulary.id_of["zebra"]].any()


def test_forecast_rows_sum_to_1(bigrams, small_world) -> None:  # type: ignore[no-untyped-def]
    rows = bigrams[-1].forecast(small_world.continuation).log_probabilities
    assert np.abs(np.exp(rows).sum(axis=1) - 1.0).max() < 1e-12
