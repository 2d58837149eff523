"""Selective prediction: answer only the most confident tokens; temperature reorders them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import kendalltau

from udfs.errors import CalibraryError


class SelectionError(CalibraryError):
    """Confidences from which nothing can be selected."""


def most_confident(confidence: ArrayLike, answered_share: float) -> NDArray[np.int64]:
    """Places of the ⌊share · n⌋ most confident tokens, the most confident first.

    Parameters
    ----------
    confidence : array_like of float, shape (n,)
        Without NaN. Equal confidences are taken in the order given, so give tokens in the order of
        their ids: top bins hold thousands of near-ties.
    answered_share : float
        In (0, 1], read as the decimal it is printed as: 0.29 of 100 is 29, not 28.

    Returns
    -------
    ndarray of int64, shape (⌊share · n⌋,)

    Raises
    ------
    SelectionError
        The share is outside (0, 1], or a confidence is NaN.

    Examples
    --------
    >>> most_confident([0.5, 0.75, 0.5, 0.25], 0.5).tolist()
    [1, 0]
    """
    if not 0.0 < answered_share <= 1.0:
        raise SelectionError(f"the answered share must be in (0, 1], got {answered_share}.")
    values = np.asarray(confidence, dtype=np.float64)
    if np.isnan(values).any():
        raise SelectionError("a confidence must be a number, got NaN; leave that token out.")
    count = math.floor(len(values) * Fraction(repr(float(answered_share))))
    return np.argsort(-values, kind="stable")[:count].astype(np.int64)


def selective_accuracy(
    confidence: ArrayLike, is_hit: ArrayLike, answered_share: float
) -> float | None:
    """Accuracy over the most confident tokens, in [0, 1]; None where the share holds none.

    Parameters
    ----------
    confidence, answered_share
        As in `most_confident`.
    is_hit : array_like of bool, shape (n,)

    Examples
    --------
    >>> selective_accuracy([0.75, 0.5, 0.25, 0.125], [True, False, True, True], 0.5)
    0.5
    """
    answered = most_confident(confidence, answered_share)
    hits = np.asarray(is_hit, dtype=np.bool_)[answered]
    return float(hits.mean()) if len(hits) else None


def retained_share(first: ArrayLike, second: ArrayLike, answered_share: float) -> float | None:
    """Share of the most confident tokens that stay so under other confidences, in [0, 1].

    Parameters
    ----------
    first, second : array_like of float, shape (n,)
        Confidences of the same tokens, at two temperatures for instance.
    answered_share : float
        As in `most_confident`.

    Returns
    -------
    float or None
        None where the share holds no token.

    Examples
    --------
    >>> retained_share([0.75, 0.5, 0.25, 0.125], [0.5, 0.25, 0.75, 0.125], 0.5)
    0.5
    """
    before = most_confident(first, answered_share)
    after = most_confident(second, answered_share)
    if len(before) != len(after):
        raise SelectionError("both confidences must be of the same tokens.")
    return len(np.intersect1d(before, after)) / len(before) if len(before) else None


def kendall_tau_b(first: ArrayLike, second: ArrayLike) -> float | None:
    """Kendall's τ_b of two confidences of the same tokens, or of the same distinct rows [1]_.

    Over tokens a row counts as often as it occurs, and its repetitions are ties; over distinct rows
    it counts once. Both are worth knowing and differ.

    Parameters
    ----------
    first, second : array_like of float, shape (n,)

    Returns
    -------
    float or None
        In [−1, 1], 1 for the same order and the same ties. None where all values of one are equal:
        there is no order to compare.

    References
    ----------
    .. [1] Kendall, The treatment of ties in ranking problems, 1945.

    Examples
    --------
    >>> kendall_tau_b([0.25, 0.5, 0.75], [0.5, 0.75, 1.0])
    1.0
    """
    values = [np.asarray(each, dtype=np.float64) for each in (first, second)]
    if np.isnan(values).any():
        raise SelectionError("a confidence must be a number, got NaN; leave that token out.")
    if any(len(np.unique(each)) < 2 for each in values):
        return None
    return float(kendalltau(*values, variant="b", method="asymptotic").statistic)
