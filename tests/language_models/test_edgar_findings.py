"""What a closed vocabulary does on real filings (Item 7 of 1993 to 2023)."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest

from flows.corpora.sentence_documents import sentence_document
from flows.language_models.forecast_losses import (
    fitted_temperature,
    temperature_gain,
    unknown_share_gain,
)
from flows.language_models.forecasts import Forecasts
from flows.language_models.scored_tokens import scored_tokens
from flows.language_models.vocabulary import UNKNOWN_ID, encode
from udfs.prediction_sets import coverage_ceiling

pytestmark = pytest.mark.shared_data

FILING_COUNT = 8
"""Some 60,000 tokens: far more than the document's 830."""


@pytest.fixture(scope="module")
def edgar(shared_data: Path, world, trigram) -> Forecasts:  # type: ignore[no-untyped-def]
    with gzip.open(shared_data / "edgar" / "mda" / "mda.jsonl.gz", "rt") as lines:
        filings = [json.loads(line) for line in lines if '"item_7"' in line][:FILING_COUNT]
    documents = [sentence_document(each["filename"], each["item_7"]) for each in filings]
    forecasts: Forecasts = trigram.forecast(encode(world.vocabulary, documents))
    return forecasts


def test_unknown_is_last_in_every_row(edgar: Forecasts) -> None:
    assert (edgar.order[:, -1] == UNKNOWN_ID).all()


def test_confidence_is_far_above_accuracy(edgar: Forecasts) -> None:
    """Printed: 0.144 against 0.059, a factor of more than two."""
    scored = scored_tokens(edgar)
    assert scored.confidence.mean() > 2 * scored.is_hit.mean()


@pytest.mark.parametrize("temperature", [0.25, 0.5, 1.0, 2.0, 4.0, 8.0])
def test_coverage_never_passes_one_minus_the_unknown_share(
    edgar: Forecasts, temperature: float
) -> None:
    scored = scored_tokens(edgar, temperature)
    # Last in every row, it is left out wherever a tenth of the mass is not its own.
    assert not scored.is_covered[scored.is_unknown].any()
    assert scored.is_covered.mean() <= coverage_ceiling(float(scored.is_unknown.mean()))


def test_mapping_onto_unknown_gains_several_times_what_temperature_gains(edgar: Forecasts) -> None:
    """Temperature is one map of the forecast, and here far from the best: some 5.6 times as much
    was gained on 2, 8 and 20 filings alike."""
    gained = temperature_gain(edgar).temperature_gain_nats
    assert gained is not None
    assert gained > 0.0
    assert unknown_share_gain(edgar) > 3 * gained


def test_the_fitted_temperature_is_a_certified_optimum(edgar: Forecasts) -> None:
    fit = fitted_temperature(edgar)
    assert fit.fitted_temperature is not None
    assert fit.fitted_temperature > 1.0
    assert abs(fit.gradient) < 1e-10
    losses = [
        -scored_tokens(edgar, fit.fitted_temperature * factor).log_probability_nats.mean()
        for factor in (0.99, 1.0, 1.01)
    ]
    assert int(np.argmin(losses)) == 1
