"""Intervals of what is known of scored tokens, by drawing documents with replacement.

Tokens of one document are alike, so documents are drawn and not tokens. Every figure is a function
of sums over tokens: with one row of sums per document, the sums of a replicate are the product of
those rows with how often each document was drawn, and no token is read again.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from udfs.errors import CalibraryError
from udfs.loss_curves import SketchedRows
from udfs.reliability_bins import FINE_BIN_COUNT
from udfs.resampling import HIGHEST_SHARE, LOWEST_SHARE, value_range
from udfs.temperature import fit_temperature

_BLOCK_NUMBERS = 1 << 22
"""Draws held at once: 32 MB, whatever the number of documents."""

_MEASURES = 3
"""Tokens, hits and confidence of a bin."""

LEAST_UNIT_COUNT = 2
"""One document drawn again and again says nothing about others."""


class BootstrapError(CalibraryError):
    """Sums of documents that cannot be resampled."""


@dataclass(frozen=True)
class SumRange:
    """Central 95 % of a figure over resamples of the documents; None where it has none.

    Attributes
    ----------
    low, high : float or None
        None for fewer than two documents, or where too few replicates have the figure
        (`udfs.resampling.LEAST_DEFINED_SHARE`).
    unit_count : int
        Documents, or imported forecasts, that were drawn from.
    replicate_count : int
        Replicates that have the figure.
    """

    low: float | None
    high: float | None
    unit_count: int
    replicate_count: int


@dataclass(frozen=True)
class ErrorRanges:
    """Intervals of the calibration errors of one bin count, see `bootstrap_calibration_errors`."""

    bin_count: int
    ece_plugin_low: float | None
    ece_plugin_high: float | None
    reliability_debiased_low: float | None
    reliability_debiased_high: float | None


def bootstrap_ratio(
    numerator: ArrayLike, denominator: ArrayLike, replicate_count: int, seed: int
) -> SumRange:
    """Interval of Σ numerator / Σ denominator over documents, such as a mean over their tokens.

    Parameters
    ----------
    numerator, denominator : array_like of float, shape (documents,)
        Sums over each document's tokens; the denominators, their counts, above 0.
    replicate_count : int
        Draws, at least 1.
    seed : int
        Of the draws. They depend on the number of documents, the count and the seed alone, so two
        language models over the same documents are resampled alike.

    Returns
    -------
    SumRange
        Percentiles: a mean over tokens has next to no bias to correct.

    Raises
    ------
    BootstrapError
        Lengths differ.

    Examples
    --------
    >>> bootstrap_ratio([1.0, 2.0], [2.0, 4.0], 300, 7).low
    0.5
    >>> bootstrap_ratio([1.0], [2.0], 300, 7).low is None
    True
    """
    sums = _matrix(numerator, denominator)
    unit_count = sums.shape[0]
    if unit_count < LEAST_UNIT_COUNT:
        return SumRange(None, None, unit_count, 0)
    drawn = resampled_sums(csr_matrix(sums), replicate_count, seed)
    return _percentiles(drawn[:, 0] / drawn[:, 1], unit_count)


def bootstrap_temperature(
    token_count: ArrayLike,
    sketch_sum: ArrayLike,
    log_probability_sum: ArrayLike,
    replicate_count: int,
    seed: int,
) -> SumRange:
    """Interval of the fitted temperature over resamples of the documents.

    The fit needs the mean sketch only (`udfs.sketched_temperatures`), so a replicate is one fit to
    17 resampled sums.

    Parameters
    ----------
    token_count, log_probability_sum : array_like of float, shape (documents,)
        Tokens of each document, and the sum of their z_y.
    sketch_sum : array_like of float, shape (documents, 16)
        Sum of their temperature sketches, in double precision.
    replicate_count, seed : int
        As in `bootstrap_ratio`.

    Returns
    -------
    SumRange
        Percentiles of the replicates whose fit converged; ``replicate_count`` says how many did.
    """
    sums = np.column_stack(
        [_matrix(token_count, log_probability_sum), np.asarray(sketch_sum, dtype=np.float64)]
    )
    unit_count = sums.shape[0]
    if unit_count < LEAST_UNIT_COUNT:
        return SumRange(None, None, unit_count, 0)
    drawn = resampled_sums(csr_matrix(sums), replicate_count, seed)
    fits = [
        fit_temperature(SketchedRows(row[2:] / row[0], [row[1] / row[0]])).fitted_temperature
        for row in drawn
    ]
    return _percentiles(
        np.array([math.nan if fitted is None else fitted for fitted in fits]), unit_count
    )


def bootstrap_calibration_errors(
    unit_index: ArrayLike,
    bin_index: ArrayLike,
    token_count: ArrayLike,
    hit_count: ArrayLike,
    confidence_sum: ArrayLike,
    bin_counts: Sequence[int],
    replicate_count: int,
    seed: int,
) -> list[ErrorRanges]:
    r"""Intervals of ECE and debiased reliability, for several bin counts at once.

    Both measure distances from 0, and a replicate adds the noise of drawing to the noise that the
    estimate holds already, so replicates lie above it. That is their bias [1]_ and not the
    estimate's: the interval has the spread of the replicates q around the estimate,

    .. math:: [\hat\theta + q_{0.025} - \bar q,\; \hat\theta + q_{0.975} - \bar q].

    That of ``reliability_debiased`` is one of the true reliability of those bins. That of
    ``ece_plugin`` is one of what other documents would give for it, whose upward bias stays in.
    Either may reach below 0, and is not clipped.

    Parameters
    ----------
    unit_index : array_like of int, shape (n,)
        Document of each row; gaps do not matter.
    bin_index : array_like of int, shape (n,)
        Its fine bin, from 0; edges stay where they are, also those of equal-mass bins.
    token_count, hit_count, confidence_sum : array_like of float, shape (n,)
        Sums over the tokens of that document in that bin.
    bin_counts : sequence of int
        Divisors of 960, the number of fine bins.
    replicate_count, seed : int
        As in `bootstrap_ratio`.

    Returns
    -------
    list of ErrorRanges
        In the order of *bin_counts*; None throughout for fewer than two documents.

    References
    ----------
    .. [1] Efron and Tibshirani, An Introduction to the Bootstrap, 1993, chapter 10.
    """
    units, places = np.unique(np.asarray(unit_index, dtype=np.int64), return_inverse=True)
    if len(units) < LEAST_UNIT_COUNT:
        return [ErrorRanges(bin_count, *[None] * 4) for bin_count in bin_counts]
    fine, fine_places = np.unique(np.asarray(bin_index, dtype=np.int64), return_inverse=True)
    values = np.column_stack([token_count, hit_count, confidence_sum]).astype(np.float64)
    columns = fine_places[:, None] * _MEASURES + np.arange(_MEASURES)
    sums = csr_matrix(
        (values.ravel(), (np.repeat(places, _MEASURES), columns.ravel())),
        shape=(len(units), len(fine) * _MEASURES),
    )
    drawn = resampled_sums(sums, replicate_count, seed).reshape(-1, len(fine), _MEASURES)
    whole = np.asarray(sums.sum(axis=0)).reshape(1, len(fine), _MEASURES)
    return [_error_ranges(fine, drawn, whole, bin_count) for bin_count in bin_counts]


def resampled_sums(sums: csr_matrix, replicate_count: int, seed: int) -> NDArray[np.float64]:
    """Return the column sums of every replicate, shape (replicates, columns).

    *sums* has one row per document, shape (documents, columns). The product is taken row by row in
    one order, so no bit depends on threads.
    """
    unit_count = sums.shape[0]
    columns = csr_matrix(sums.T)
    return np.concatenate(
        [(columns @ drawn.T).T for drawn in _draws(unit_count, replicate_count, seed)]
    )


def _draws(unit_count: int, replicate_count: int, seed: int) -> Iterator[NDArray[np.float64]]:
    """How often each unit is drawn, a block of replicates at a time."""
    rng = np.random.default_rng(seed)
    block = max(1, _BLOCK_NUMBERS // unit_count)
    for start in range(0, replicate_count, block):
        rows = min(block, replicate_count - start)
        drawn = np.empty((rows, unit_count))
        for row in range(rows):
            drawn[row] = np.bincount(
                rng.integers(0, unit_count, size=unit_count), minlength=unit_count
            )
        yield drawn


def _error_ranges(
    fine: NDArray[np.int64],
    drawn: NDArray[np.float64],
    whole: NDArray[np.float64],
    bin_count: int,
) -> ErrorRanges:
    starts = np.unique(fine * bin_count // FINE_BIN_COUNT, return_index=True)[1]
    errors, estimates = (_errors(np.add.reduceat(each, starts, axis=1)) for each in (drawn, whole))
    bounds = np.quantile(errors, [LOWEST_SHARE, HIGHEST_SHARE], axis=0)
    shifted = bounds - errors.mean(axis=0) + estimates
    return ErrorRanges(bin_count, *(float(bound) for bound in shifted.T.ravel()))


def _errors(bins: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return ECE and debiased reliability of every row of bins, shape (rows, 2)."""
    count, hits, confidence = (bins[:, :, place] for place in range(_MEASURES))
    surplus = np.abs(hits - confidence)
    # As in `udfs.reliability`: bins of one token add nothing to the debiased sum.
    several = count > 1.0
    divisor = np.where(several, count, 2.0)
    debiased = surplus**2 / divisor - hits * (count - hits) / (divisor * (divisor - 1.0))
    total = count.sum(axis=1)
    return np.column_stack(
        [surplus.sum(axis=1) / total, np.where(several, debiased, 0.0).sum(axis=1) / total]
    )


def _percentiles(values: NDArray[np.float64], unit_count: int) -> SumRange:
    found = value_range(values)
    return SumRange(found.low, found.high, unit_count, found.value_count)


def _matrix(first: ArrayLike, second: ArrayLike) -> NDArray[np.float64]:
    columns = [np.asarray(each, dtype=np.float64) for each in (first, second)]
    if columns[0].shape != columns[1].shape or columns[0].ndim != 1:
        raise BootstrapError(
            "sums of documents must be two lists of one length, got shapes "
            f"{columns[0].shape} and {columns[1].shape}; give one number per document."
        )
    return np.column_stack(columns)
