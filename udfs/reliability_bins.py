"""Reliability bins: tokens, hits and confidence, counted by confidence.

Bins are (lo, hi], with 0 in the first one. Sums are taken in fixed point, so the order of tokens
changes no bit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from udfs.errors import CalibraryError

FINE_BIN_COUNT = 960
"""Bins that are stored. 960 = 2⁶·3·5 is divided by 1, 2, 4, …, 64 and by 10, 15, 30 and 60."""

_COARSE_UNIT, _FINE_UNIT = 2.0**-24, 2.0**-48
"""Digits of the fixed point: sums of each are exact below 2²⁹ tokens, and 2⁻⁴⁸ is 4e-15."""


class ReliabilityError(CalibraryError):
    """Confidences, hits or bins from which no reliability can be computed."""


@dataclass(frozen=True)
class ReliabilityBins:
    """What is known of every bin; empty bins are kept with zeros.

    Attributes
    ----------
    token_count : ndarray of int64, shape (bin_count,)
        Tokens whose confidence lies in the bin.
    hit_count : ndarray of int64, shape (bin_count,)
        Those of them whose top label came.
    confidence_sum : ndarray of float64, shape (bin_count,)
        Σc.
    variance_sum : ndarray of float64, shape (bin_count,)
        Σc(1−c): the variance of the hits of the calibrated twin.
    rejected_count : int
        Tokens in no bin, since their confidence is NaN or outside [0, 1].
    """

    token_count: NDArray[np.int64]
    hit_count: NDArray[np.int64]
    confidence_sum: NDArray[np.float64]
    variance_sum: NDArray[np.float64]
    rejected_count: int = 0

    @property
    def bin_count(self) -> int:
        """Number of bins, the empty ones included."""
        return len(self.token_count)


def bin_index(confidence: ArrayLike, bin_count: int) -> NDArray[np.int64]:
    """Place of each confidence among equal-width bins (lo, hi]: #{k in 1..B−1 : c > k/B} [1]_.

    An edge belongs to the bin below it, 0 to the first bin and 1 to the last. k/B is the double
    nearest to it: rounding ``ceil(c * B)`` puts edges into the wrong bin for many B.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Each in [0, 1]; float32 is widened, not rounded.
    bin_count : int
        B, at least 1.

    Returns
    -------
    ndarray of int64, shape (n,)
        From 0 to B − 1.

    Raises
    ------
    ReliabilityError
        A confidence is NaN or outside [0, 1], or there is no bin.

    References
    ----------
    .. [1] Guo et al., On Calibration of Modern Neural Networks, 2017, section 2.

    Examples
    --------
    >>> bin_index([0.0, 0.25, 0.375, 1.0], 4).tolist()
    [0, 0, 1, 3]
    """
    values = np.asarray(confidence, dtype=np.float64)
    outside = np.flatnonzero(~_is_probability(values))
    if len(outside):
        place = outside[0]
        raise ReliabilityError(
            f"a confidence must be in [0, 1], got {values[place]} in place {place}; leave it out."
        )
    return np.searchsorted(_inner_edges(bin_count), values, side="left").astype(np.int64)


def reliability_bins(
    confidence: ArrayLike, is_hit: ArrayLike, bin_count: int = FINE_BIN_COUNT
) -> ReliabilityBins:
    """Count tokens, hits and confidence in equal-width bins, see `bin_index`.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Those that are NaN or outside [0, 1] enter no bin and are counted as rejected.
    is_hit : array_like of bool, shape (n,)
        Whether the top label came.
    bin_count : int
        At least 1.

    Examples
    --------
    >>> bins = reliability_bins([0.75, 0.75, float("nan")], [True, False, True], 2)
    >>> bins.token_count.tolist(), bins.hit_count.tolist(), bins.rejected_count
    ([0, 2], [0, 1], 1)
    """
    values, hits, rejected_count = _binnable(confidence, is_hit)
    return _summed(bin_index(values, bin_count), values, hits, bin_count, rejected_count)


def equal_mass_bins(confidence: ArrayLike, is_hit: ArrayLike, bin_count: int) -> ReliabilityBins:
    """Count the same in bins of about equally many tokens each.

    The upper edge of bin k is the ⌈kn/B⌉-th smallest confidence, and bins are (lo, hi]: tokens of
    one confidence are never parted. Where many are alike some bins are empty, down to a single
    occupied one; that is no error.

    Parameters
    ----------
    confidence, is_hit, bin_count
        As in `reliability_bins`.

    Examples
    --------
    >>> equal_mass_bins([0.5, 0.25, 0.5, 0.75], [1, 0, 1, 1], 2).token_count.tolist()
    [3, 1]
    """
    values, hits, rejected_count = _binnable(confidence, is_hit)
    ordered = np.sort(values)
    # -(-a // b) is the ceiling in integers, which no rounding can shift.
    places = [-(-k * len(ordered) // bin_count) - 1 for k in range(1, _checked(bin_count))]
    edges = ordered[places] if len(ordered) else np.empty(0)
    found = np.searchsorted(edges, values, side="left").astype(np.int64)
    return _summed(found, values, hits, bin_count, rejected_count)


def rolled_up(bins: ReliabilityBins, bin_count: int) -> ReliabilityBins:
    """Add neighbouring bins up to *bin_count* wider ones: the same tokens as binning anew.

    Parameters
    ----------
    bins : ReliabilityBins
        Equal-width ones.
    bin_count : int
        A divisor of their number.

    Raises
    ------
    ReliabilityError
        *bin_count* is no divisor.

    Examples
    --------
    >>> rolled_up(reliability_bins([0.25, 0.75], [1, 0], 4), 2).token_count.tolist()
    [1, 1]
    """
    if bins.bin_count % _checked(bin_count):
        raise ReliabilityError(
            f"the bin count must divide {bins.bin_count}, got {bin_count}; bin the tokens anew."
        )
    shape = (bin_count, bins.bin_count // bin_count)
    return ReliabilityBins(
        bins.token_count.reshape(shape).sum(axis=1),
        bins.hit_count.reshape(shape).sum(axis=1),
        np.array([math.fsum(row) for row in bins.confidence_sum.reshape(shape).tolist()]),
        np.array([math.fsum(row) for row in bins.variance_sum.reshape(shape).tolist()]),
        bins.rejected_count,
    )


def _checked(bin_count: int) -> int:
    if bin_count < 1:
        raise ReliabilityError(f"the bin count must be at least 1, got {bin_count}.")
    return bin_count


def _inner_edges(bin_count: int) -> NDArray[np.float64]:
    return np.arange(1, _checked(bin_count)) / bin_count


def _is_probability(values: NDArray[np.float64]) -> NDArray[np.bool_]:
    return (values >= 0.0) & (values <= 1.0)


def _binnable(
    confidence: ArrayLike, is_hit: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.bool_], int]:
    """Return the confidences that have a bin, their hits, and how many have none."""
    values = np.asarray(confidence, dtype=np.float64)
    hits = np.asarray(is_hit, dtype=np.bool_)
    if values.ndim != 1 or values.shape != hits.shape:
        raise ReliabilityError(
            "confidence and is_hit must be two lists of one length, "
            f"got shapes {values.shape} and {hits.shape}."
        )
    kept = _is_probability(values)
    return values[kept], hits[kept], int(len(values) - kept.sum())


def _summed(
    index: NDArray[np.int64],
    values: NDArray[np.float64],
    hits: NDArray[np.bool_],
    bin_count: int,
    rejected_count: int,
) -> ReliabilityBins:
    return ReliabilityBins(
        np.bincount(index, minlength=bin_count).astype(np.int64),
        np.bincount(index[hits], minlength=bin_count).astype(np.int64),
        _fixed_point_sums(index, values, bin_count),
        _fixed_point_sums(index, values * (1.0 - values), bin_count),
        rejected_count,
    )


def _fixed_point_sums(
    index: NDArray[np.int64], values: NDArray[np.float64], bin_count: int
) -> NDArray[np.float64]:
    """Add *values* in [0, 1], rounded to 2⁻⁴⁸, in two digits whose sums are whole numbers."""
    coarse = np.floor(values / _COARSE_UNIT)
    fine = np.rint((values - coarse * _COARSE_UNIT) / _FINE_UNIT)
    coarse_sums = np.bincount(index, weights=coarse, minlength=bin_count)
    fine_sums = np.bincount(index, weights=fine, minlength=bin_count)
    sums: NDArray[np.float64] = coarse_sums * _COARSE_UNIT + fine_sums * _FINE_UNIT
    return sums
