"""GCV's decomposition of a language model's spread: between decoding strategies and within them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from udfs.credal_sets import CredalSetError, checked_points
from udfs.frames import axis_scale
from udfs.resampling import bootstrap_rows, value_range

Values = NDArray[np.float64]


@dataclass(frozen=True)
class VarianceDecomposition:
    """Spread of one language model, in squared units of the frame, summed over the axes.

    Attributes
    ----------
    between_strategy_variance : float
        Variance of the strategies' centroids.
    within_strategy_variance : float
        Mean over the strategies of the variance of their vectors.
    epistemic_ratio : float or None
        between / (between + within), in [0, 1]; None where nothing varies.
    epistemic_ratio_bias : float or None
        Mean of the bootstrap replicates minus the ratio.
    epistemic_ratio_low, epistemic_ratio_high : float or None
        Central 95 % of the replicates, over prompts; the choice of strategies is not resampled.
    """

    between_strategy_variance: float
    within_strategy_variance: float
    epistemic_ratio: float | None
    epistemic_ratio_bias: float | None
    epistemic_ratio_low: float | None
    epistemic_ratio_high: float | None


def variance_decomposition(
    strategy_points: Sequence[ArrayLike],
    is_standardized: bool,
    ddof: int,
    replicate_count: int,
    seed: int,
) -> VarianceDecomposition:
    """Decompose the spread of a language model's diversity vectors over its decoding strategies.

    Parameters
    ----------
    strategy_points : sequence of array_like of float, shape (n, axes) each
        One set of vectors for each strategy, at least two, in one frame. Sets of equal n are taken
        as the same prompts in the same order and resampled together.
    is_standardized : bool
        Whether each axis is divided by the population sd of all the vectors that enter: anew when a
        strategy is left out, and in every replicate.
    ddof : int
        0 or 1, for both variances; with five strategies it moves the ratio by five points.
    replicate_count, seed : int
        Of the bootstrap over prompts.

    Raises
    ------
    CredalSetError
        Fewer than two strategies, no more vectors than *ddof*, or see `checked_points`.

    Notes
    -----
    The ratio measures the grid of strategies as much as the model: leaving out the most distant one
    halves it. It says nothing about strategies that were not tried.

    References
    ----------
    .. [1] *The Geometry of Creative Variability*, section 3.7.

    Examples
    --------
    >>> found = variance_decomposition([[[0.0], [2.0]], [[4.0], [6.0]]], False, 0, 4, 1)
    >>> found.between_strategy_variance, found.within_strategy_variance, found.epistemic_ratio
    (4.0, 1.0, 0.8)
    """
    sets = [checked_points(points, "strategy_points") for points in strategy_points]
    if len(sets) < 2 or min(map(len, sets)) <= ddof:
        raise CredalSetError(
            f"a decomposition needs two strategies with more than {ddof} vectors each, got "
            f"{[len(points) for points in sets]} vectors; leave that strategy out."
        )
    # Seen from the least value of each axis, one on which all agree is exactly 0, whatever it was.
    least = np.concatenate(sets).min(axis=0)
    sets = [points - least for points in sets]
    counts = np.array([len(points) for points in sets])
    exact = [_exact_moments(points) for points in sets]
    between, within = _variances(exact, counts, is_standardized=is_standardized, ddof=ddof)
    drawn = [
        _replicate_moments(points.tobytes(), points.shape, replicate_count, seed) for points in sets
    ]
    replicates = _variances(drawn, counts, is_standardized=is_standardized, ddof=ddof)
    ratio = value_range(_ratio(between, within))
    spread = value_range(_ratio(*replicates))
    bias = None
    if ratio.mean is not None and spread.mean is not None:
        bias = spread.mean - ratio.mean
    return VarianceDecomposition(
        between_strategy_variance=float(between[0]),
        within_strategy_variance=float(within[0]),
        epistemic_ratio=ratio.mean,
        epistemic_ratio_bias=bias,
        epistemic_ratio_low=spread.low,
        epistemic_ratio_high=spread.high,
    )


def _variances(
    moments: Sequence[tuple[Values, Values]],
    counts: NDArray[np.int64],
    *,
    is_standardized: bool,
    ddof: int,
) -> tuple[Values, Values]:
    """Variance between and within strategies, summed over axes, shape (draws,) each.

    *moments* are means and population variances, shape (draws, axes), of each strategy.
    """
    means = np.array([mean for mean, _ in moments])
    variances = np.array([variance for _, variance in moments])
    weights = counts[:, None, None]
    squared_units = np.ones(means.shape[1:])
    if is_standardized:
        grand_mean = (weights * means).sum(axis=0) / counts.sum()
        spread = variances + (means - grand_mean) ** 2
        total = (weights * spread).sum(axis=0) / counts.sum()
        # A constant axis has no spread to divide: it stays at 0.
        squared_units = np.where(total > 0.0, total, 1.0)
    between = means.var(axis=0, ddof=ddof) / squared_units
    within = (variances * weights / (weights - ddof)).mean(axis=0) / squared_units
    return between.sum(axis=1), within.sum(axis=1)


def _ratio(between: Values, within: Values) -> Values:
    """Epistemic ratio of each draw, NaN where nothing varies."""
    with np.errstate(invalid="ignore"):
        ratio: Values = between / (between + within)
    return ratio


def _exact_moments(points: Values) -> tuple[Values, Values]:
    """Means and population variances of *points*, correctly rounded, shape (1, axes) each."""
    scales = [axis_scale(axis) for axis in points.T]
    means = np.array([[scale.mean for scale in scales]])
    return means, np.array([[scale.sd**2 for scale in scales]])


# A strategy enters one decomposition for every ddof and every other strategy left out.
@lru_cache(maxsize=64)
def _replicate_moments(
    point_bytes: bytes, shape: tuple[int, int], replicate_count: int, seed: int
) -> tuple[Values, Values]:
    """Means and population variances of the replicates, shape (replicates, axes) each."""
    points = np.frombuffer(point_bytes).reshape(shape)
    drawn = points[bootstrap_rows(len(points), replicate_count, seed)]
    return drawn.mean(axis=1), drawn.var(axis=1)
