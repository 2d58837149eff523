"""Claims about facts read often, once and never."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from flows.language_models.errors import FactError
from flows.language_models.fact_model import FactModel, FactRegime, FactWorld, draw_fact_world
from flows.language_models.forecast_losses import fitted_temperature
from flows.language_models.scored_tokens import scored_tokens
from udfs.loss_curves import FitStatus

FACT_SEED = 0
"""The findings below were seen on 0, 1 and 2 before 0 was fixed."""

WORLD = draw_fact_world(np.random.default_rng(FACT_SEED))
FORECASTS = FactModel.of(WORLD).forecast()
SCORED = scored_tokens(FORECASTS)


def members(regime: FactRegime) -> np.ndarray:
    return WORLD.regime == regime.value


def test_rows_equal_exact_fractions_on_four_subjects() -> None:
    # Objects 0, 1, 1, 2, stated 3, 2, 1 and 0 times: n₁ = n₂ = 1, so D = 1/3; K = 3.
    world = FactWorld(np.array([0, 1, 1, 2]), np.array([3, 2, 1, 0]), 3)
    base = [(Fraction(each) + Fraction(1, 3)) / 7 for each in (3, 3, 0)]
    discount = Fraction(1, 3)
    expected = [
        [
            (max(count - discount, 0) * (which == own) + discount * base[which]) / count
            if count
            else base[which]
            for which in range(3)
        ]
        for own, count in ((0, 3), (1, 2), (1, 1), (2, 0))
    ]
    forecasts = FactModel.of(world).forecast()
    rows = np.exp(forecasts.log_probabilities)[forecasts.row_of_token]
    assert not rows[:, :2].any()
    for row, exact in zip(rows, expected, strict=True):
        assert sum(exact) == 1
        assert row[2:].tolist() == pytest.approx([float(each) for each in exact], rel=1e-14)


def test_the_probes_are_split_about_as_in_the_document() -> None:
    """Printed: 30, 33 and 48 of 111. A third of each count allows for the seed."""
    counts = [int(members(regime).sum()) for regime in FactRegime]
    assert sum(counts) == 111
    for count, printed in zip(counts, (48, 33, 30)[::-1], strict=True):
        assert abs(count - printed) <= printed / 3


def test_facts_seen_twice_or_more_are_always_right_and_underconfident() -> None:
    often = members(FactRegime.SEEN_TWICE_OR_MORE)
    assert SCORED.is_hit[often].all()
    assert SCORED.confidence[often].mean() < 0.95
    fit = fitted_temperature(FORECASTS.where(often))
    # All right: the loss falls for ever as τ → 0, and no number would be honest.
    assert fit.status is FitStatus.NO_FINITE_OPTIMUM
    assert fit.gradient < 0.0


def test_facts_never_seen_are_overconfident() -> None:
    never = members(FactRegime.NEVER_SEEN)
    assert SCORED.confidence[never].mean() > 2 * SCORED.is_hit[never].mean()
    fit = fitted_temperature(FORECASTS.where(never))
    assert fit.fitted_temperature is not None
    assert fit.fitted_temperature > 2.0


def test_one_temperature_serves_neither_regime() -> None:
    pooled = fitted_temperature(FORECASTS)
    assert pooled.log_loss_nats is not None
    assert pooled.fitted_temperature is not None
    gained = pooled.log_loss_at_1_nats - pooled.log_loss_nats
    # Each regime at a temperature of its own, near the limit for those that are always right.
    own = 0.0
    for regime, temperature in zip(FactRegime, (0.05, 0.05, 100.0), strict=True):
        own -= scored_tokens(
            FORECASTS.where(members(regime)), temperature
        ).log_probability_nats.sum()
    assert pooled.log_loss_at_1_nats - own / 111 > 5 * gained
    tempered = scored_tokens(FORECASTS, pooled.fitted_temperature)
    surplus = tempered.is_hit - tempered.confidence
    assert surplus[members(FactRegime.SEEN_TWICE_OR_MORE)].mean() > 0.05
    assert surplus[members(FactRegime.NEVER_SEEN)].mean() < -0.05


def test_no_row_serves_two_regimes() -> None:
    for row in range(len(FORECASTS.log_probabilities)):
        assert len(set(WORLD.regime[FORECASTS.row_of_token == row])) == 1


def test_counts_that_give_no_discount_are_refused() -> None:
    with pytest.raises(FactError, match="some twice"):
        FactModel.of(FactWorld(np.array([0, 1]), np.array([1, 1]), 2))
