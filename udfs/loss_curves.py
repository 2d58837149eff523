"""The log loss of some tokens as a function of β = 1/τ, from exact rows or from sketches.

With z the log-probabilities of a row and y its outcome, L(β) = mean[log Z(β) − β z_y],
L′ = mean[E z − z_y] and L″ = mean Var z, all under softmax(βz). L″ ≥ 0: the loss is convex in β
(in τ it is not).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from udfs.errors import CalibraryError
from udfs.stored_sketches import rounding_error
from udfs.temperature_sketch import (
    CURVATURE_MATRIX,
    HIGHEST_TEMPERATURE,
    LOWEST_TEMPERATURE,
    slope_basis,
    value_basis,
)

FLAT_TOLERANCE = 1e-12
"""Nats from the likeliest to the least likely outcome up to which a row is uniform: rounding."""

FLOAT_SKETCH_CURVATURE = 1e-5
"""L″ that float32 coefficients leave where it is 0, before they are stored."""

_CHUNK_ELEMENTS = 1 << 22
"""Numbers raised to powers at once: 32 MB of scratch space, whatever the vocabulary."""

_COARSE, _FINE = 2.0**20, 2.0**50
"""Digits of the fixed point in which sketches are summed."""


class TemperatureError(CalibraryError):
    """Tokens to which no temperature can be fitted."""


class FitStatus(StrEnum):
    """What came of a temperature fit."""

    CONVERGED = "converged"
    """The minimum was found; its gradient is the certificate."""
    NO_FINITE_OPTIMUM = "no_finite_optimum"
    """The loss falls for ever as β → ∞ (every outcome is a likeliest one) or as β → 0."""
    FLAT = "flat"
    """Every row is uniform over its possible outcomes: no temperature changes anything."""
    OUTSIDE_SKETCH = "outside_sketch"
    """The loss still falls at an end of the sketch's range; only exact rows can go on."""


@dataclass(frozen=True)
class LossPoint:
    """Mean log loss at one β in nats, with L′ and L″ (nats per β and per its square)."""

    log_loss_nats: float
    gradient: float
    curvature: float


class LossCurve(Protocol):
    """What a temperature can be fitted to."""

    token_count: float
    """Tokens the loss is the mean of, at their weights."""
    lowest_beta: float
    highest_beta: float
    """Where the minimum is looked for, exclusive."""

    @property
    def obstacle(self) -> FitStatus | None:
        """Why there is no minimum to look for; None where there is one."""

    def at(self, inverse_temperature: float) -> LossPoint:
        """Value and derivatives at β."""


class ExactRows:
    """Loss curve of log-probability rows that are at hand.

    Parameters
    ----------
    log_probabilities : array_like of float, shape (rows, V)
        z, normalised in float32 or better; −inf marks an impossible outcome.
    outcome : array_like of int, shape (rows,)
        Number of the outcome that came, from 0.
    weight : array_like of float, shape (rows,), optional
        Tokens behind each row, where equal ones were merged; 1 by default.

    Attributes
    ----------
    rejected_count : int
        Rows left out because they hold NaN or +inf, or their outcome is at −inf: no temperature
        repairs an outcome that was called impossible.

    Raises
    ------
    TemperatureError
        No row is left, or lengths differ.
    """

    lowest_beta, highest_beta = 0.0, math.inf

    def __init__(
        self, log_probabilities: ArrayLike, outcome: ArrayLike, weight: ArrayLike | None = None
    ) -> None:
        rows = np.atleast_2d(np.asarray(log_probabilities))
        places = np.asarray(outcome, dtype=np.int64)
        weights = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=np.float64)
        if not len(rows) == len(places) == len(weights):
            raise TemperatureError(
                "every row must have one outcome and one weight, "
                f"got {len(rows)} rows, {len(places)} outcomes and {len(weights)} weights."
            )
        own = np.take_along_axis(rows, places[:, None], axis=1)[:, 0].astype(np.float64)
        top = rows.max(axis=1).astype(np.float64)
        # The maximum is NaN where any value is, and +inf where one is.
        kept = np.isfinite(own) & np.isfinite(top)
        self.rejected_count = int(len(rows) - kept.sum())
        if self.rejected_count == len(rows):
            raise TemperatureError(
                "a temperature must be fitted to at least one row with a possible outcome, got "
                f"none of {len(rows)}."
            )
        self._rows, self._top, self._weights = rows[kept], top[kept], weights[kept]
        self._lag = self._top - own[kept]
        self.token_count = math.fsum(self._weights.tolist())

    @property
    def obstacle(self) -> FitStatus | None:
        """Decided by the limits of L′, which are known without any search.

        As β → ∞ the mean of z tends to the largest one, as β → 0 to the plain mean over the
        possible outcomes; between them L′ grows, so it has a zero if and only if they differ in
        sign.
        """
        possible = np.isfinite(self._rows)
        below = np.where(possible, self._rows - self._top[:, None], 0.0)
        if bool(np.all(below >= -FLAT_TOLERANCE)):
            return FitStatus.FLAT
        at_zero = self._mean(below.sum(axis=1) / possible.sum(axis=1) + self._lag)
        at_infinity = self._mean(self._lag)
        return None if at_zero < 0.0 < at_infinity else FitStatus.NO_FINITE_OPTIMUM

    def at(self, inverse_temperature: float) -> LossPoint:
        """Value and derivatives at β, any β > 0."""
        log_total, mean, variance = (np.empty(len(self._rows)) for _ in range(3))
        chunk = max(1, _CHUNK_ELEMENTS // self._rows.shape[1])
        for start in range(0, len(self._rows), chunk):
            part = slice(start, start + chunk)
            # Measured from the top, so that no power overflows and no digits are lost.
            below = self._rows[part].astype(np.float64) - self._top[part, None]
            powers = np.exp(inverse_temperature * below)
            below[powers == 0.0] = 0.0  # it adds to no moment, and 0 · −inf would be NaN
            total = powers.sum(axis=1)
            log_total[part] = np.log(total)
            mean[part] = (powers * below).sum(axis=1) / total
            variance[part] = (powers * (below - mean[part, None]) ** 2).sum(axis=1) / total
        return LossPoint(
            self._mean(log_total + inverse_temperature * self._lag),
            self._mean(mean + self._lag),
            self._mean(variance),
        )

    def _mean(self, values: NDArray[np.float64]) -> float:
        return math.fsum((self._weights * values).tolist()) / self.token_count


class SketchedRows:
    """Loss curve of scored tokens from their temperature sketches.

    The mean log loss needs the mean sketch only, so any number of tokens fits as fast as one.

    Parameters
    ----------
    sketch : array_like of float, shape (tokens, 16)
        See `udfs.temperature_sketch.temperature_sketch`.
    log_probability_nats : array_like of float, shape (tokens,)
        z_y of the outcomes.

    Raises
    ------
    TemperatureError
        There is no token, lengths differ, or a number is not finite.
    """

    lowest_beta, highest_beta = 1.0 / HIGHEST_TEMPERATURE, 1.0 / LOWEST_TEMPERATURE

    def __init__(self, sketch: ArrayLike, log_probability_nats: ArrayLike) -> None:
        sketches = np.atleast_2d(np.asarray(sketch))
        own = np.asarray(log_probability_nats, dtype=np.float64)
        if not len(own) or len(sketches) != len(own):
            raise TemperatureError(
                "every token must have a sketch and a log-probability, and there must be one, "
                f"got {len(sketches)} sketches and {len(own)} log-probabilities."
            )
        if not (np.isfinite(sketches).all() and np.isfinite(own).all()):
            raise TemperatureError(
                "sketches and log-probabilities must be finite, got NaN or an infinity; "
                "quarantine those tokens."
            )
        self.token_count = float(len(own))
        self._sketch = _column_means(sketches)
        self._own = math.fsum(own.tolist()) / len(own)

    @property
    def obstacle(self) -> FitStatus | None:
        """Decided by L″ over the range, see `flat_curvature`, and by L′ at its ends."""
        betas = (self.lowest_beta, 1.0, self.highest_beta)
        points = [self.at(beta) for beta in betas]
        if all(p.curvature <= flat_curvature(b) for b, p in zip(betas, points, strict=True)):
            return FitStatus.FLAT
        is_inside = points[0].gradient < 0.0 < points[-1].gradient
        return None if is_inside else FitStatus.OUTSIDE_SKETCH

    def at(self, inverse_temperature: float) -> LossPoint:
        """Value and derivatives at β in [0.5, 2], through x = log₂ β."""
        place = math.log2(inverse_temperature)
        return LossPoint(
            float(self._sketch @ value_basis(place)) - inverse_temperature * self._own,
            float(self._sketch @ gradient_basis(inverse_temperature)) - self._own,
            float(self._sketch @ curvature_basis(inverse_temperature)),
        )


def gradient_basis(inverse_temperature: float) -> NDArray[np.float64]:
    """Weights of a sketch's coefficients in (log Z)′ by β, shape (16,); β in [0.5, 2]."""
    scale = 1.0 / (inverse_temperature * math.log(2.0))  # dx/dβ for x = log₂ β
    return slope_basis(math.log2(inverse_temperature)) * scale


def curvature_basis(inverse_temperature: float) -> NDArray[np.float64]:
    """Weights of a sketch's coefficients in (log Z)″ by β, shape (16,); β in [0.5, 2]."""
    scale = 1.0 / (inverse_temperature * math.log(2.0))
    bend = CURVATURE_MATRIX @ value_basis(math.log2(inverse_temperature))
    return np.asarray(bend * scale**2 - gradient_basis(inverse_temperature) / inverse_temperature)


def flat_curvature(inverse_temperature: float) -> float:
    """L″ at β up to which stored sketches are flat: all that rounding can leave of 0.

    Rounded to float32 first and to stored units then, in the worst case. It is 4.3e-5 at β = 1,
    where polynomials of degree 15 know their curvature best, 9.8e-5 at 2 and 1.7e-3 at 0.5; the
    log-probabilities of a forecast that is not flat have a variance of some nats².
    """
    return FLOAT_SKETCH_CURVATURE + rounding_error(curvature_basis(inverse_temperature))


def _column_means(values: NDArray[np.floating]) -> NDArray[np.float64]:
    """Return the mean of every column, in two digits whose sums are whole numbers.

    No bit depends on the order of rows, and it takes a tenth of the time of `math.fsum`. Each
    number is rounded to 2⁻⁵⁰; sums are exact below 2²³ rows of numbers below 2⁹.
    """
    means = np.empty(values.shape[1])
    for place, column in enumerate(values.T):
        numbers = column.astype(np.float64)
        coarse = np.rint(numbers * _COARSE)
        fine = np.rint((numbers - coarse / _COARSE) * _FINE)
        means[place] = (coarse.sum() / _COARSE + fine.sum() / _FINE) / len(numbers)
    return means
