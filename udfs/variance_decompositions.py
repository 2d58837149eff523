"""GCV's decomposition of a language model's spread: between decoding strategies and within them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from udfs.credal_sets import CredalSetError, checked_points
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
    strategy_points: Sequence[ArrayLike], ddof: int, replicate_count: int, seed: int
) -> VarianceDecomposition:
    """Decompose the spread of a language model's diversity vectors over its decoding strategies.

    Parameters
    ----------
    strategy_points : sequence of array_like of float, shape (n, axes) each
        One set of vectors for each strategy, at least two, in one frame. Sets of equal n are taken
        as the same prompts in the same order and resampled together.
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
    >>> found = variance_decomposition([[[0.0], [2.0]], [[4.0], [6.0]]], 0, 4, 1)
    >>> found.between_strategy_variance, found.within_strategy_variance, found.epistemic_ratio
    (4.0, 1.0, 0.8)
    """
    sets = [checked_points(points, "strategy_points") for points in strategy_points]
    if len(sets) < 2 or min(map(len, sets)) <= ddof:
        raise CredalSetError(
            f"a decomposition needs two strategies with more than {ddof} vectors each, got "
            f"{[len(points) for points in sets]} vectors; leave that strategy out."
        )
    means = [_exact_means(points) for points in sets]
    within = [
        _exact_means((points - mean) ** 2) * len(points) / (len(points) - ddof)
        for points, mean in zip(sets, means, strict=True)
    ]
    centroids = np.array(means)
    between = (centroids - _exact_means(centroids)) ** 2
    between_variance = math.fsum(between.ravel().tolist()) / (len(sets) - ddof)
    within_variance = math.fsum(np.array(within).ravel().tolist()) / len(sets)
    total = between_variance + within_variance
    ratio = between_variance / total if total > 0.0 else None
    replicates = value_range(_ratios(sets, ddof, replicate_count, seed))
    return VarianceDecomposition(
        between_strategy_variance=between_variance,
        within_strategy_variance=within_variance,
        epistemic_ratio=ratio,
        epistemic_ratio_bias=None
        if replicates.mean is None or ratio is None
        else replicates.mean - ratio,
        epistemic_ratio_low=replicates.low,
        epistemic_ratio_high=replicates.high,
    )


def _exact_means(points: Values) -> Values:
    return np.array([math.fsum(axis.tolist()) / len(axis) for axis in points.T])


def _ratios(sets: list[Values], ddof: int, replicate_count: int, seed: int) -> Values:
    """Epistemic ratio in each bootstrap replicate, NaN where nothing varies."""
    moments = [
        _replicate_moments(points.tobytes(), points.shape, replicate_count, seed) for points in sets
    ]
    means = np.array([mean for mean, _ in moments])
    variances = np.array(
        [
            variance * len(points) / (len(points) - ddof)
            for points, (_, variance) in zip(sets, moments, strict=True)
        ]
    )
    between = means.var(axis=0, ddof=ddof).sum(axis=1)
    within = variances.mean(axis=0).sum(axis=1)
    with np.errstate(invalid="ignore"):
        ratios: Values = between / (between + within)
    return ratios


# A strategy enters one decomposition for every ddof and every other strategy left out.
@lru_cache(maxsize=64)
def _replicate_moments(
    point_bytes: bytes, shape: tuple[int, int], replicate_count: int, seed: int
) -> tuple[Values, Values]:
    """Means and population variances of the replicates, shape (replicates, axes) each."""
    points = np.frombuffer(point_bytes).reshape(shape)
    drawn = points[bootstrap_rows(len(points), replicate_count, seed)]
    return drawn.mean(axis=1), drawn.var(axis=1)
