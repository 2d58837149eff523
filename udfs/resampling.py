"""Which prompts enter each replicate: seeded draws of rows, and the range of what they give."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

LOWEST_SHARE, HIGHEST_SHARE = 0.025, 0.975
"""The central 95 %, as every interval of the warehouse."""

LEAST_DEFINED_SHARE = 0.9
"""Share of replicates that must have a value. Those without are not left out at random: of four
prompts only draws of all four (one in eleven) span a volume. Each such draw is the original set
again, and an interval over them alone would have no width.
"""

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class ValueRange:
    """What a list of replicates comes to.

    Attributes
    ----------
    mean : float or None
        Of the defined values, correctly rounded.
    low, high : float or None
        Their 2.5 % and 97.5 % quantiles, interpolated linearly. All three are None where fewer than
        `LEAST_DEFINED_SHARE` are defined.
    value_count : int
        How many are defined.
    """

    mean: float | None
    low: float | None
    high: float | None
    value_count: int


def bootstrap_rows(row_count: int, replicate_count: int, seed: int) -> Rows:
    """Rows drawn with replacement, shape (replicate_count, row_count).

    They depend on the arguments alone, so two story sources over the same prompts are resampled
    together and their replicates can be subtracted.
    """
    rng = np.random.default_rng(seed)
    return rng.integers(0, row_count, size=(replicate_count, row_count))


def half_rows(row_count: int, split_count: int, seed: int) -> tuple[Rows, Rows]:
    """Two disjoint random halves of the rows, each of shape (split_count, row_count // 2).

    Of an odd number of rows one is left out of each split, so that both halves have one size.
    """
    rng = np.random.default_rng(seed)
    orders = rng.permuted(np.tile(np.arange(row_count), (split_count, 1)), axis=1)
    half = row_count // 2
    return orders[:, :half], orders[:, half : 2 * half]


def value_range(values: NDArray[np.float64]) -> ValueRange:
    """Mean and central 95 % of *values*, shape (n,); NaN stands for an undefined one.

    Examples
    --------
    >>> value_range(np.array([1.0, 2.0, 3.0]))
    ValueRange(mean=2.0, low=1.05, high=2.95, value_count=3)
    >>> value_range(np.array([1.0, 2.0, np.nan, 3.0]))
    ValueRange(mean=None, low=None, high=None, value_count=3)
    """
    defined = values[~np.isnan(values)]
    if len(defined) == 0 or len(defined) < LEAST_DEFINED_SHARE * len(values):
        return ValueRange(None, None, None, len(defined))
    low, high = np.quantile(defined, [LOWEST_SHARE, HIGHEST_SHARE])
    mean = math.fsum(defined.tolist()) / len(defined)
    return ValueRange(mean, float(low), float(high), len(defined))


def paired_difference_range(first: NDArray[np.float64], second: NDArray[np.float64]) -> ValueRange:
    """`value_range` of second − first, draw by draw; NaN where either is undefined.

    Where it leaves 0 outside, the two can be told apart by draws of this size.

    Examples
    --------
    >>> paired_difference_range(np.array([1.0, 2.0]), np.array([1.5, 2.5])).low
    0.5
    """
    return value_range(second - first)
