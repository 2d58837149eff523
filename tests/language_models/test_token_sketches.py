"""Claims about sketches of exact forecasts: they say what the rows say, at every temperature."""

from __future__ import annotations

import numpy as np
import pytest

from flows.language_models.forecasts import Forecasts
from flows.language_models.scored_tokens import scored_tokens
from flows.language_models.token_sketches import token_sketches
from udfs.temperature_sketch import (
    confidence_at,
    log_loss_at,
    mass_ahead_at,
    mass_ahead_sketch,
    temperature_sketch,
)


def test_sketches_are_those_of_one_row_per_token(continuation: Forecasts) -> None:
    some = continuation.where(np.arange(len(continuation.text)) % 50 == 0)
    found = token_sketches(some)
    rows = some.log_probabilities[some.row_of_token]
    # Float32 coefficients of equal polynomials, from sums in another order.
    assert found.temperature_sketch == pytest.approx(temperature_sketch(rows), abs=1e-6)
    expected = mass_ahead_sketch(rows, some.text.token_id)
    assert found.mass_ahead_sketch == pytest.approx(expected, abs=1e-5, nan_ok=True)


@pytest.mark.parametrize("temperature", [0.5, 0.8, 1.0, 1.7, 2.0])
def test_sketches_answer_for_temperature_as_exact_rows_do(
    continuation: Forecasts, temperature: float
) -> None:
    """To 6e-5. The design measured log Z to 4e-5 and confidence to 2e-5 on a large vocabulary; a
    trigram's rows, a few seen words over a floor of 1e-8, bend log Z more sharply where the floor
    takes over (measured here: 4.8e-5 nats and 3.9e-5). Where it matters, use the exact rows."""
    sketches = token_sketches(continuation)
    plain = scored_tokens(continuation)
    exact = scored_tokens(continuation, temperature)
    confidence = confidence_at(temperature, sketches.temperature_sketch, plain.confidence)
    assert np.abs(confidence - exact.confidence).max() < 6e-5
    loss = log_loss_at(temperature, sketches.temperature_sketch, plain.log_probability_nats)
    assert np.abs(loss + exact.log_probability_nats).max() < 6e-5
    ahead = mass_ahead_at(temperature, sketches.temperature_sketch, sketches.mass_ahead_sketch)
    assert np.abs(ahead - exact.mass_ahead).max() < 6e-5
