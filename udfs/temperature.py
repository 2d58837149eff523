"""The fitted temperature: the one number that repairs a forecast without changing its top label."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from udfs.loss_curves import FitStatus, LossCurve, LossPoint, TemperatureError

GRADIENT_TOLERANCE = 1e-10
"""Nats per unit of β: the certificate of a fit, and some 1e4 times the rounding of its sums."""

STEP_TOLERANCE = 1e-9
"""Relative step in β at which Newton stops: a small curvature cannot hide a distant optimum."""

LARGEST_STEP_FACTOR = 4.0
"""Newton overshoots where the curvature vanishes, so β moves by at most this factor at once."""

MAXIMUM_ITERATIONS = 200
"""Newton needs about 6; halving the widest bracket of doubles takes 60."""


@dataclass(frozen=True)
class TemperatureFit:
    """One fit with its certificate.

    Attributes
    ----------
    status : FitStatus
    fitted_temperature, inverse_temperature : float or None
        τ and β = 1/τ at the minimum; τ below 1 says that the forecasts were underconfident. None
        unless converged: no other number would be honest.
    log_loss_nats : float or None
        Mean log loss there.
    log_loss_at_1_nats : float
        Mean log loss at τ = 1, as forecast.
    gradient, curvature : float
        L′ and L″ at the minimum, or at β = 1 where there is none.
    iteration_count : int
        Newton or bisection steps taken from β = 1.
    token_count : float
        Tokens fitted to, at their weights.
    """

    status: FitStatus
    fitted_temperature: float | None
    inverse_temperature: float | None
    log_loss_nats: float | None
    log_loss_at_1_nats: float
    gradient: float
    curvature: float
    iteration_count: int
    token_count: float


@dataclass(frozen=True)
class CrossFittedGain:
    """What a fitted temperature wins on tokens that it was not fitted to.

    Attributes
    ----------
    temperature_gain_nats : float or None
        Mean log loss at τ = 1 minus that at the temperature of the other half, over both halves by
        their token counts. Negative where the repair does harm, and kept so. None where a half has
        no fitted temperature.
    even_fit, odd_fit : TemperatureFit
        The fit to each half.
    """

    temperature_gain_nats: float | None
    even_fit: TemperatureFit
    odd_fit: TemperatureFit


def fit_temperature(curve: LossCurve) -> TemperatureFit:
    """Minimise the log loss by Newton from β = 1, kept inside a shrinking bracket [1]_.

    The loss is convex in β, so the gradient at the result, below `GRADIENT_TOLERANCE`, certifies
    the global minimum. Where there is none the status says so, and no number is given.

    Parameters
    ----------
    curve : LossCurve
        `udfs.loss_curves.ExactRows` or `udfs.loss_curves.SketchedRows`.

    Returns
    -------
    TemperatureFit
        The top label of every row, and so the accuracy, is the same at any τ; the order of
        confidences is not.

    Raises
    ------
    TemperatureError
        The search did not end: the losses are no numbers.

    References
    ----------
    .. [1] *Calibration of Language Models*, proposition 2; Guo et al., 2017, supplement S2.

    Examples
    --------
    >>> from udfs.loss_curves import ExactRows
    >>> rows = np.log([[0.75, 0.25]] * 4)
    >>> fit = fit_temperature(ExactRows(rows, [0, 0, 0, 1]))
    >>> fit.status.value, round(fit.fitted_temperature, 12)
    ('converged', 1.0)
    >>> fit_temperature(ExactRows(rows, [0, 0, 0, 0])).status.value
    'no_finite_optimum'
    """
    point = first = curve.at(1.0)
    obstacle = curve.obstacle
    if obstacle is not None:
        return _fit(obstacle, None, first, first, 0, curve)
    beta, low, high = 1.0, curve.lowest_beta, curve.highest_beta
    for iteration in range(MAXIMUM_ITERATIONS):
        low = beta if point.gradient <= 0.0 else low
        high = beta if point.gradient >= 0.0 else high
        following = _newton_step(beta, point)
        settled = min(abs(following - beta), high - low) <= STEP_TOLERANCE * beta
        if settled and abs(point.gradient) < GRADIENT_TOLERANCE:
            return _fit(FitStatus.CONVERGED, beta, point, first, iteration, curve)
        # Out of the bracket only where both its ends are finite and above 0.
        beta = following if low < following < high else math.sqrt(low * high)
        point = curve.at(beta)
    raise TemperatureError(
        f"a fit must reach a gradient below {GRADIENT_TOLERANCE:g}, got {point.gradient:g} at "
        f"temperature {1.0 / beta:g} after {MAXIMUM_ITERATIONS} steps; look at these tokens."
    )


def cross_fitted_gain(even: LossCurve, odd: LossCurve) -> CrossFittedGain:
    """Fit on each half, score the other, and average by token counts [1]_.

    A temperature fitted and scored on the same tokens flatters itself. In expectation the gain is a
    lower bound of the reliability term of the log loss (`udfs.decomposition.decompose_log`), and
    can be far below it.

    Parameters
    ----------
    even, odd : LossCurve
        Tokens of even and of odd sentences (or documents), counted from 0: neighbouring tokens
        depend on each other, so halves of single tokens would not be independent.

    References
    ----------
    .. [1] *Calibration of Language Models*, "What miscalibration costs".
    """
    even_fit, odd_fit = fit_temperature(even), fit_temperature(odd)
    won = [
        _gain(curve, other.inverse_temperature)
        for curve, other in ((even, odd_fit), (odd, even_fit))
        if other.inverse_temperature is not None
    ]
    tokens = even.token_count + odd.token_count
    return CrossFittedGain(
        math.fsum(won) / tokens if len(won) == 2 else None,
        even_fit,
        odd_fit,
    )


def tempered(log_probabilities: ArrayLike, temperature: float) -> NDArray[np.float64]:
    """Forecast of every row at τ: log softmax(z/τ), in nats.

    Parameters
    ----------
    log_probabilities : array_like of float, shape (rows, V)
    temperature : float
        τ > 0; above 1 flattens.

    Returns
    -------
    ndarray of float64, shape (rows, V)

    Examples
    --------
    >>> tempered([[0.0, -math.inf]], 2.0).tolist()
    [[0.0, -inf]]
    """
    rows = np.atleast_2d(np.asarray(log_probabilities, dtype=np.float64)) / temperature
    below = rows - rows.max(axis=1, keepdims=True)
    logs: NDArray[np.float64] = below - np.log(np.exp(below).sum(axis=1, keepdims=True))
    return logs


def _newton_step(beta: float, point: LossPoint) -> float:
    """Return β − L′/L″, at most `LARGEST_STEP_FACTOR` away from β."""
    if point.curvature > 0.0:
        following = beta - point.gradient / point.curvature
    else:
        following = -math.copysign(math.inf, point.gradient)
    return min(max(following, beta / LARGEST_STEP_FACTOR), beta * LARGEST_STEP_FACTOR)


def _fit(
    status: FitStatus,
    beta: float | None,
    point: LossPoint,
    first: LossPoint,
    iteration_count: int,
    curve: LossCurve,
) -> TemperatureFit:
    return TemperatureFit(
        status,
        None if beta is None else 1.0 / beta,
        beta,
        None if beta is None else point.log_loss_nats,
        first.log_loss_nats,
        point.gradient,
        point.curvature,
        iteration_count,
        curve.token_count,
    )


def _gain(curve: LossCurve, beta: float) -> float:
    """Return what *beta* wins over all tokens of *curve*, in nats."""
    return curve.token_count * (curve.at(1.0).log_loss_nats - curve.at(beta).log_loss_nats)
