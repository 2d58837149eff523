"""The calibrated twin: how large an ECE is when every confidence is true.

The twin keeps the confidences and redraws every hit as a coin with that confidence. It is
calibrated by construction, so its ECE is noise; its mean and standard deviation need no drawing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from udfs.errors import CalibraryError

EXACT_TWIN_TOKENS = 300
"""A bin with fewer tokens is computed exactly. Above, the normal law is off by at most 0.7 %."""

_MEAN_OF_FOLDED_NORMAL = math.sqrt(2.0 / math.pi)


class TwinError(CalibraryError):
    """Bins from which no calibrated twin can be made."""


@dataclass(frozen=True)
class CalibratedTwin:
    """The noise floor of one ECE.

    Attributes
    ----------
    twin_ece_mean, twin_ece_sd : float
        Mean and standard deviation of the twin's `ece_plugin`, probability units. The sd hardly
        depends on the bin count; the mean grows with its square root.
    """

    twin_ece_mean: float
    twin_ece_sd: float


def poisson_binomial(probabilities: ArrayLike) -> NDArray[np.float64]:
    """Distribution of the number of hits of independent coins, by exact convolution.

    Parameters
    ----------
    probabilities : array_like of float, shape (n,)
        Each coin's hit probability, in [0, 1]; their order changes no bit.

    Returns
    -------
    ndarray of float64, shape (n + 1,)
        Probability of 0, 1, …, n hits. The work grows with n².

    Examples
    --------
    >>> poisson_binomial([0.5, 0.5]).tolist()
    [0.25, 0.5, 0.25]
    """
    coins = np.sort(np.asarray(probabilities, dtype=np.float64))
    if coins.ndim != 1 or not bool(np.all((coins >= 0.0) & (coins <= 1.0))):
        raise TwinError("the hit probabilities of a bin must be a list of numbers in [0, 1].")
    counts = np.zeros(len(coins) + 1)
    counts[0] = 1.0
    for place, hit in enumerate(coins.tolist(), start=1):
        counts[1 : place + 1] = counts[1 : place + 1] * (1.0 - hit) + counts[:place] * hit
        counts[0] *= 1.0 - hit
    return counts


def poisson_binomial_deviation(probabilities: ArrayLike) -> float:
    """Mean absolute deviation E|H − Σc| of the hits H of one bin's twin, exactly.

    Parameters
    ----------
    probabilities : array_like of float, shape (n,)
        The confidences of the bin, in [0, 1].

    Returns
    -------
    float
        In tokens, from 0 to n/2.

    Examples
    --------
    >>> poisson_binomial_deviation([0.5, 0.5])
    0.5
    """
    counts = poisson_binomial(probabilities)
    mean = math.fsum(np.asarray(probabilities, dtype=np.float64).tolist())
    return math.fsum((counts * np.abs(np.arange(len(counts)) - mean)).tolist())


def folded_normal_deviation(variance_sum: float) -> float:
    """Mean absolute deviation of a normal law of variance Σc(1−c): √(2v/π), in tokens.

    Examples
    --------
    >>> folded_normal_deviation(0.0)
    0.0
    """
    return _MEAN_OF_FOLDED_NORMAL * math.sqrt(variance_sum)


def twin_from_deviations(
    token_count: int, variance_sum: ArrayLike, absolute_deviation: ArrayLike
) -> CalibratedTwin:
    r"""Mean and sd of the twin's ECE from what each bin contributes; bins are independent.

    .. math:: \mathrm{mean} = \frac1N \sum_b d_b, \qquad
              \mathrm{sd}^2 = \frac1{N^2} \sum_b (v_b - d_b^2)

    with :math:`v_b = \sum c(1-c)` and :math:`d_b` the mean absolute deviation of its hits.

    Parameters
    ----------
    token_count : int
        N, the tokens of all bins, at least 1.
    variance_sum, absolute_deviation : array_like of float, shape (n_bins,)
        v and d; empty bins may be left out or given as zeros.

    Examples
    --------
    >>> twin_from_deviations(4, [1.0, 1.0], [1.0, 1.0])
    CalibratedTwin(twin_ece_mean=0.5, twin_ece_sd=0.0)
    """
    if token_count < 1:
        raise TwinError(f"a twin must have at least one token, got {token_count}.")
    variances = np.asarray(variance_sum, dtype=np.float64)
    deviations = np.asarray(absolute_deviation, dtype=np.float64)
    spread = math.fsum([*variances.tolist(), *(-(deviations**2)).tolist()])
    # One coin of 0.5 misses its mean by exactly 0.5: rounding may leave −1e-17 of a variance of 0.
    return CalibratedTwin(
        math.fsum(deviations.tolist()) / token_count, math.sqrt(max(spread, 0.0)) / token_count
    )


def calibrated_twin(confidences_by_bin: Sequence[ArrayLike]) -> CalibratedTwin:
    """Twin of the tokens of each bin: exact below `EXACT_TWIN_TOKENS`, a closed form above.

    Parameters
    ----------
    confidences_by_bin : sequence of array_like of float
        The confidences of every bin's tokens, each in [0, 1]; a bin may be empty.

    Examples
    --------
    >>> calibrated_twin([[0.5], [], [0.5, 0.5]]).twin_ece_mean == 1.0 / 3.0
    True
    """
    bins = [np.asarray(values, dtype=np.float64) for values in confidences_by_bin]
    variances = [math.fsum((values * (1.0 - values)).tolist()) for values in bins]
    deviations = [
        poisson_binomial_deviation(values)
        if len(values) < EXACT_TWIN_TOKENS
        else folded_normal_deviation(variance)
        for values, variance in zip(bins, variances, strict=True)
    ]
    return twin_from_deviations(sum(len(values) for values in bins), variances, deviations)


def ece_z(ece: float, twin: CalibratedTwin) -> float | None:
    """How many sds an ECE lies above its noise floor; None where the twin has no noise.

    Near 0 for a calibrated language model (mean 0, sd 1), whatever the sample size.

    Examples
    --------
    >>> ece_z(0.5, CalibratedTwin(0.25, 0.125))
    2.0
    """
    return (ece - twin.twin_ece_mean) / twin.twin_ece_sd if twin.twin_ece_sd > 0.0 else None
