"""Comparison of two sets of diversity vectors, axis by axis: across prompts, and by prompt."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from udfs.credal_sets import CredalSetError, checked_points


@dataclass(frozen=True)
class PairedComparison:
    """Two sets over the same prompts, axis by axis.

    Attributes
    ----------
    wasserstein_distances : tuple of float, shape (axes,)
        1-D Wasserstein-1 distance across prompts, in units of the axis, at least 0.
    wasserstein_mean : float
        Their mean.
    rank_correlations : tuple of float or None, shape (axes,)
        Spearman correlation over prompts, in [-1, 1]; None where either side is constant.
    rank_correlation_mean : float or None
        Mean of the defined ones; None where none is.
    """

    wasserstein_distances: tuple[float, ...]
    wasserstein_mean: float
    rank_correlations: tuple[float | None, ...]
    rank_correlation_mean: float | None


def paired_comparison(human_points: ArrayLike, story_source_points: ArrayLike) -> PairedComparison:
    """Compare *story_source_points* with *human_points*, row by row of the same prompts.

    Parameters
    ----------
    human_points, story_source_points : array_like of float, shape (n, axes)
        Row i of both belongs to the same prompt. The Wasserstein distance ignores that pairing
        (does the model vary *as much*?), the rank correlation is about nothing else (does it vary
        *where* people vary?).

    Raises
    ------
    CredalSetError
        The shapes differ, or see `udfs.credal_sets.checked_points`.

    Examples
    --------
    >>> found = paired_comparison([[0.0], [1.0], [2.0]], [[3.0], [4.0], [2.5]])
    >>> found.wasserstein_distances, found.rank_correlations
    ((2.1666666666666665,), (-0.5,))
    """
    human = checked_points(human_points, "human_points")
    source = checked_points(story_source_points, "story_source_points")
    if human.shape != source.shape:
        raise CredalSetError(
            "both sets must have one row for each shared prompt and the same axes, "
            f"got shapes {human.shape} (human) and {source.shape} (story source)."
        )
    distances = [wasserstein_distance(*axis) for axis in zip(human.T, source.T, strict=True)]
    correlations = [rank_correlation(*axis) for axis in zip(human.T, source.T, strict=True)]
    defined = [value for value in correlations if value is not None]
    return PairedComparison(
        wasserstein_distances=tuple(distances),
        wasserstein_mean=math.fsum(distances) / len(distances),
        rank_correlations=tuple(correlations),
        rank_correlation_mean=math.fsum(defined) / len(defined) if defined else None,
    )


def wasserstein_distance(first: ArrayLike, second: ArrayLike) -> float:
    """Wasserstein-1 distance of two samples of equal size: mean distance of their sorted values.

    Parameters
    ----------
    first, second : array_like of float, shape (n,)
        In one unit, n at least 1.

    Examples
    --------
    >>> wasserstein_distance([0.0, 1.0], [1.5, 0.5])
    0.5
    """
    one, other = np.sort(np.asarray(first)), np.sort(np.asarray(second))
    if one.shape != other.shape:
        raise CredalSetError(
            f"two samples must have one size, got {len(one)} and {len(other)} values; compare the "
            "prompts that both have."
        )
    gaps = np.abs(one - other)
    return math.fsum(gaps.tolist()) / len(gaps)


def rank_correlation(first: ArrayLike, second: ArrayLike) -> float | None:
    """Spearman correlation, ties at their mean rank; None where either side is constant.

    Parameters
    ----------
    first, second : array_like of float, shape (n,)
        Element i of both belongs to the same prompt.

    Examples
    --------
    >>> rank_correlation([1.0, 2.0, 3.0], [10.0, 30.0, 20.0])
    0.5
    """
    ranks = np.stack([rankdata(np.asarray(values)) for values in (first, second)])
    value = float(rank_correlations(ranks[:1], ranks[1:])[0])
    return None if math.isnan(value) else value


def rank_correlations(
    first: NDArray[np.float64], second: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Pearson correlation of ranks, row by row; NaN where a row is constant.

    Parameters
    ----------
    first, second : ndarray of float, shape (rows, n)
        Ranks within each row. Twice a rank is a whole number, so the sums are exact.
    """
    middle = (first.shape[1] + 1) / 2
    a, b = first - middle, second - middle
    scale = np.sqrt((a * a).sum(axis=1) * (b * b).sum(axis=1))
    with np.errstate(invalid="ignore"):
        found: NDArray[np.float64] = (a * b).sum(axis=1) / scale
    return found
