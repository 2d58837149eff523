"""Calibration errors, read from reliability bins.

All are Σ over occupied bins by `math.fsum`, so neither the order of bins nor that of tokens changes
a bit.
"""

from __future__ import annotations

import math

import numpy as np

from udfs.reliability_bins import ReliabilityBins, ReliabilityError


def ece_plugin(bins: ReliabilityBins) -> float:
    """Expected calibration error: Σ|hits − Σc| / N, the mean absolute gap over tokens [1]_.

    It is biased upward by the noise of every bin's accuracy, which `udfs.twins` measures, and
    downward by averaging inside bins.

    Returns
    -------
    float
        Probability units, in [0, 1].

    Raises
    ------
    ReliabilityError
        No token lies in any bin.

    References
    ----------
    .. [1] Guo et al., 2017, equation 3.

    Examples
    --------
    >>> from udfs.reliability_bins import reliability_bins
    >>> ece_plugin(reliability_bins([0.75, 0.25], [True, True], 2))
    0.5
    """
    surplus = np.abs(bins.hit_count - bins.confidence_sum)
    return math.fsum(surplus.tolist()) / _total(bins)


def reliability_plugin(bins: ReliabilityBins) -> float:
    """Binned reliability of the Brier score: Σ (n/N)·gap², gap = accuracy − mean confidence.

    Returns
    -------
    float
        Squared-probability units, at least 0 and biased upward (see `reliability_debiased`).

    Examples
    --------
    >>> from udfs.reliability_bins import reliability_bins
    >>> reliability_plugin(reliability_bins([0.75, 0.25], [True, True], 2))
    0.3125
    """
    occupied = bins.token_count > 0
    surplus = (bins.hit_count - bins.confidence_sum)[occupied]
    return math.fsum((surplus**2 / bins.token_count[occupied]).tolist()) / _total(bins)


def reliability_debiased(bins: ReliabilityBins) -> float:
    """Debiased binned reliability: Σ (n/N)·[gap² − accuracy(1 − accuracy)/(n − 1)] [1]_.

    Each bin's squared gap overstates the true one by the sampling variance of its accuracy; this
    subtracts the unbiased estimate of that variance. What is left is exact where the tokens of a
    bin share one hit probability, and else lowered by their variance over n − 1.

    A bin of one token has no such estimate and follows the rule ``drop``: it adds 0, and N still
    counts its token. `singleton_token_share` says how many tokens that is.

    Returns
    -------
    float
        Squared-probability units. Can be negative, and is kept so: clipping brings the bias back.

    References
    ----------
    .. [1] Kumar, Liang and Ma, Verified Uncertainty Calibration, 2019, definition 5.2; Bröcker,
       Estimating reliability and resolution of probability forecasts, 2012.

    Examples
    --------
    >>> from udfs.reliability_bins import reliability_bins
    >>> reliability_debiased(reliability_bins([0.75, 0.75], [True, True], 2))
    0.0625
    """
    several = bins.token_count > 1
    count, hits = bins.token_count[several], bins.hit_count[several]
    squared = (hits - bins.confidence_sum[several]) ** 2 / count
    # n · accuracy(1 − accuracy)/(n − 1), with as few roundings as can be.
    noise = hits * (count - hits) / (count * (count - 1))
    return math.fsum([*squared.tolist(), *(-noise).tolist()]) / _total(bins)


def singleton_token_share(bins: ReliabilityBins) -> float:
    """Share of tokens alone in their bin, which `reliability_debiased` drops; in [0, 1]."""
    return int((bins.token_count == 1).sum()) / _total(bins)


def mce(bins: ReliabilityBins) -> float:
    """Maximum calibration error: the largest absolute gap of an occupied bin, in [0, 1].

    A bin of one token counts as much as one of a million, so this is mostly noise for many bins.

    Examples
    --------
    >>> from udfs.reliability_bins import reliability_bins
    >>> mce(reliability_bins([0.75, 0.25], [True, True], 2))
    0.75
    """
    _total(bins)
    occupied = bins.token_count > 0
    gap = (bins.hit_count - bins.confidence_sum)[occupied] / bins.token_count[occupied]
    return float(np.abs(gap).max())


def _total(bins: ReliabilityBins) -> int:
    total = int(bins.token_count.sum())
    if not total:
        raise ReliabilityError(
            "a calibration error must be of at least one token, got none "
            f"({bins.rejected_count} rejected)."
        )
    return total
