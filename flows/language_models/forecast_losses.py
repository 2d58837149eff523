"""The log loss of a text as a function of β = 1/τ, at the cost of its distinct rows."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from flows.language_models.errors import ForecastError
from flows.language_models.forecasts import Forecasts, row_moments
from flows.language_models.vocabulary import UNKNOWN_ID
from udfs.loss_curves import FLAT_TOLERANCE, FitStatus, LossPoint
from udfs.temperature import CrossFittedGain, TemperatureFit, cross_fitted_gain, fit_temperature


class DistinctRows:
    """Loss curve of exact forecasts for `udfs.temperature.fit_temperature`.

    L(β) = (1/N) Σ_rows n_r log Z_r(β) − β · mean z_y needs each row once and the outcomes only
    through the mean of z_y: a text of 25,000 tokens costs its 2,500 rows.

    Parameters
    ----------
    forecasts : Forecasts

    Attributes
    ----------
    rejected_count : int
        Tokens left out because their outcome was called impossible: no temperature repairs that.

    Raises
    ------
    ForecastError
        No token is left.
    """

    lowest_beta, highest_beta = 0.0, math.inf

    def __init__(self, forecasts: Forecasts) -> None:
        is_possible = np.isfinite(forecasts.log_probability_nats)
        self.rejected_count = int((~is_possible).sum())
        if not is_possible.any():
            raise ForecastError(
                "a temperature must be fitted to at least one token with a possible outcome, got "
                f"none of {len(is_possible)}."
            )
        counts = np.bincount(
            forecasts.row_of_token[is_possible], minlength=len(forecasts.log_probabilities)
        )
        is_used = counts > 0
        self._rows = forecasts.log_probabilities[is_used]
        self._weights = counts[is_used].astype(np.float64)
        self._top = self._rows.max(axis=1)
        own = forecasts.log_probability_nats[is_possible]
        self.token_count = float(len(own))
        self._own = math.fsum(own.tolist()) / self.token_count

    @property
    def obstacle(self) -> FitStatus | None:
        """Decided by the limits of L′ at β → 0 and β → ∞ (see `udfs.loss_curves.ExactRows`)."""
        is_possible = np.isfinite(self._rows)
        possible = np.where(is_possible, self._rows, 0.0)
        lowest = np.where(is_possible, self._rows, np.inf).min(axis=1)
        if bool(np.all(self._top - lowest <= FLAT_TOLERANCE)):
            return FitStatus.FLAT
        at_zero = self._mean(possible.sum(axis=1) / is_possible.sum(axis=1)) - self._own
        at_infinity = self._mean(self._top) - self._own
        # Where every outcome is a top label the two sums differ by rounding only.
        has_optimum = at_zero < 0.0 and at_infinity > FLAT_TOLERANCE
        return None if has_optimum else FitStatus.NO_FINITE_OPTIMUM

    def at(self, inverse_temperature: float) -> LossPoint:
        """Value and derivatives at β, any β > 0."""
        moments = row_moments(self._rows, inverse_temperature)
        return LossPoint(
            self._mean(moments.log_partition) - inverse_temperature * self._own,
            self._mean(moments.mean) - self._own,
            self._mean(moments.variance),
        )

    def _mean(self, values: NDArray[np.float64]) -> float:
        return math.fsum((self._weights * values).tolist()) / self.token_count


def fitted_temperature(forecasts: Forecasts) -> TemperatureFit:
    """Temperature that minimises the log loss of these tokens, with its certificate."""
    return fit_temperature(DistinctRows(forecasts))


def temperature_gain(forecasts: Forecasts) -> CrossFittedGain:
    """Gain of a temperature fitted on even sentences and tried on odd ones, and the reverse."""
    is_odd = forecasts.text.sentence_index % 2 == 1
    return cross_fitted_gain(
        DistinctRows(forecasts.where(~is_odd)), DistinctRows(forecasts.where(is_odd))
    )


def unknown_share_gain(forecasts: Forecasts) -> float:
    """Cross-fitted gain in nats of mapping the other half's share of ``<unk>`` onto ``<unk>``.

    The share of one half of the sentences is its best e (see `Forecasts.with_unknown_share`): the
    log loss falls apart into a loss of e and one of the known words.

    Raises
    ------
    ForecastError
        A half has no ``<unk>``, or nothing else.
    """
    is_odd = forecasts.text.sentence_index % 2 == 1
    won = []
    for is_scored in (is_odd, ~is_odd):
        share = float(unknown_tokens(forecasts)[~is_scored].mean())
        half = forecasts.where(is_scored)
        mapped = half.with_unknown_share(share)
        won.extend((mapped.log_probability_nats - half.log_probability_nats).tolist())
    return math.fsum(won) / len(forecasts.text)


def unknown_tokens(forecasts: Forecasts) -> NDArray[np.bool_]:
    """Which tokens came as ``<unk>``, shape (tokens,)."""
    return np.asarray(forecasts.text.token_id == UNKNOWN_ID)
