"""Prediction sets: the nucleus as a claim about the next token, and split conformal prediction.

Mass ahead of an outcome is the probability of all that are likelier, or as likely with a lower
number. The nucleus of mass p holds an outcome if and only if less than p lies ahead of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike, NDArray

from udfs.errors import CalibraryError

MASS_TOLERANCE = 1e-12
"""Sums of probabilities are off by some 1e-16: 0.6 + 0.3 is 0.8999999999999999, and is 0.9."""


class PredictionSetError(CalibraryError):
    """Numbers from which no prediction set can be made."""


class ConformalScore(StrEnum):
    """How badly an outcome fits a forecast; larger is worse."""

    LAC = "lac"
    """1 − its probability: sets are small on average."""
    APS = "aps"
    """Mass ahead of it: sets adapt to the row. Without the random tie-breaker of the original."""


@dataclass(frozen=True)
class PredictionSets:
    """Sets of several rows.

    Attributes
    ----------
    kept_mass : ndarray of float64, shape (rows,)
        Probability that the forecast gives its set; the coverage it claims.
    prediction_set_size : ndarray of int64, shape (rows,)
        Outcomes in the set.
    """

    kept_mass: NDArray[np.float64]
    prediction_set_size: NDArray[np.int64]


@dataclass(frozen=True)
class ConformalCoverage:
    """Split conformal prediction, calibrated on one half and tried on the other.

    Attributes
    ----------
    conformal_threshold : float
        Largest score that is kept; ∞ where too few scores calibrate it: the set is then everything.
    prediction_set_coverage : float
        Share of tried tokens that lie in their set, in [0, 1].
    calibration_token_count, token_count : int
        Tokens that set the threshold, and tokens tried.
    """

    conformal_threshold: float
    prediction_set_coverage: float
    calibration_token_count: int
    token_count: int


def mass_ahead(probabilities: ArrayLike) -> NDArray[np.float64]:
    """Mass ahead of every outcome of every row, in [0, 1].

    Parameters
    ----------
    probabilities : array_like of float, shape (rows, V)
        Ties are broken by the lower number.

    Returns
    -------
    ndarray of float64, shape (rows, V)
        Exactly 0 for the top label.

    Examples
    --------
    >>> mass_ahead([[0.25, 0.5, 0.25]]).tolist()
    [[0.5, 0.0, 0.75]]
    """
    rows = np.atleast_2d(np.asarray(probabilities, dtype=np.float64))
    order = np.argsort(-rows, axis=1, kind="stable")
    ordered = np.take_along_axis(rows, order, axis=1)
    before = np.zeros_like(rows)
    np.cumsum(ordered[:, :-1], axis=1, out=before[:, 1:])
    found = np.empty_like(rows)
    np.put_along_axis(found, order, before, axis=1)
    return found


def is_in_nucleus(mass_ahead_of_outcome: ArrayLike, nucleus_mass: float) -> NDArray[np.bool_]:
    """Whether outcomes lie in their nucleus: mass ahead < p − `MASS_TOLERANCE`.

    Strictly less: an outcome ahead of which p lies already is not needed. (Conformal sets keep a
    score equal to their threshold.)

    Parameters
    ----------
    mass_ahead_of_outcome : array_like of float
        In [0, 1].
    nucleus_mass : float
        p, in (0, 1].

    Raises
    ------
    PredictionSetError
        p is outside (0, 1].

    Examples
    --------
    >>> is_in_nucleus([0.0, 0.5, 0.75], 0.75).tolist()
    [True, True, False]
    """
    if not 0.0 < nucleus_mass <= 1.0:
        raise PredictionSetError(f"the nucleus mass must be in (0, 1], got {nucleus_mass}.")
    values = np.asarray(mass_ahead_of_outcome, dtype=np.float64)
    return np.asarray(values < nucleus_mass - MASS_TOLERANCE)


def nucleus(probabilities: ArrayLike, nucleus_mass: float) -> PredictionSets:
    """Shortest list of likeliest outcomes whose mass reaches p, of every row [1]_.

    Parameters
    ----------
    probabilities : array_like of float, shape (rows, V)
    nucleus_mass : float
        p, in (0, 1].

    References
    ----------
    .. [1] *Calibration of Language Models*, proposition 3; Holtzman et al., 2020, section 3.1.

    Examples
    --------
    >>> nucleus([[0.5, 0.25, 0.25]], 0.75)
    PredictionSets(kept_mass=array([0.75]), prediction_set_size=array([2]))
    """
    rows = np.atleast_2d(np.asarray(probabilities, dtype=np.float64))
    members = is_in_nucleus(mass_ahead(rows), nucleus_mass)
    return PredictionSets(
        np.where(members, rows, 0.0).sum(axis=1), members.sum(axis=1).astype(np.int64)
    )


def coverage_ceiling(unknown_token_share: float) -> float:
    """Coverage that no nucleus can pass where ``<unk>`` is last in every row and left out.

    It holds at every temperature, since none moves the last place.

    Examples
    --------
    >>> coverage_ceiling(0.25)
    0.75
    """
    return 1.0 - unknown_token_share


def conformal_scores(
    score: ConformalScore, probabilities: ArrayLike, outcome: ArrayLike
) -> NDArray[np.float64]:
    """Score of the outcome of every row.

    Parameters
    ----------
    score : ConformalScore
    probabilities : array_like of float, shape (rows, V)
    outcome : array_like of int, shape (rows,)

    Returns
    -------
    ndarray of float64, shape (rows,)
        In [0, 1].

    Examples
    --------
    >>> conformal_scores(ConformalScore.APS, [[0.25, 0.75]], [0]).tolist()
    [0.75]
    """
    rows = np.atleast_2d(np.asarray(probabilities, dtype=np.float64))
    values = 1.0 - rows if score is ConformalScore.LAC else mass_ahead(rows)
    places = np.asarray(outcome, dtype=np.int64)[:, None]
    return np.take_along_axis(values, places, axis=1)[:, 0]


def conformal_threshold(calibration_scores: ArrayLike, miscoverage_level: float) -> float:
    """Return the ⌈(n + 1)(1 − α)⌉-th smallest score; ∞ if beyond n [1]_.

    Whatever the forecasts, a further exchangeable token scores at most that with probability at
    least 1 − α, and at most 1 − α + 1/(n + 1) where scores are never equal.

    Parameters
    ----------
    calibration_scores : array_like of float, shape (n,)
    miscoverage_level : float
        α, in (0, 1), read as the decimal it is printed as: (n + 1)(1 − 0.7) is 3 for n = 9, not
        the next whole number above 3.0000000000000004.

    Raises
    ------
    PredictionSetError
        α is outside (0, 1), or a score is NaN.

    References
    ----------
    .. [1] Vovk, Gammerman and Shafer, Algorithmic Learning in a Random World, 2005; Sadinle, Lei
       and Wasserman, 2019 (lac); Romano, Sesia and Candès, 2020 (aps).

    Examples
    --------
    >>> conformal_threshold([0.75, 0.25, 0.5], 0.5), conformal_threshold([0.75], 0.25)
    (0.5, inf)
    """
    if not 0.0 < miscoverage_level < 1.0:
        raise PredictionSetError(
            f"the miscoverage level must be between 0 and 1, got {miscoverage_level}."
        )
    scores = np.sort(np.asarray(calibration_scores, dtype=np.float64))
    if np.isnan(scores).any():
        raise PredictionSetError("conformal scores must be numbers, got NaN; leave that token out.")
    place = math.ceil((len(scores) + 1) * (1 - Fraction(repr(float(miscoverage_level)))))
    return float(scores[place - 1]) if place <= len(scores) else math.inf


def conformal_coverage(
    calibration_scores: ArrayLike, scores: ArrayLike, miscoverage_level: float
) -> ConformalCoverage:
    """Set the threshold on one half of the tokens and see how many of the other it covers.

    Parameters
    ----------
    calibration_scores, scores : array_like of float, shape (n,) and (m,)
        Of the outcomes, from `conformal_scores`; m at least 1.
    miscoverage_level : float
        α, in (0, 1).

    Examples
    --------
    >>> conformal_coverage([0.25, 0.5, 0.75], [0.25, 0.5, 0.875, 1.0], 0.5)
    ... # doctest: +NORMALIZE_WHITESPACE
    ConformalCoverage(conformal_threshold=0.5, prediction_set_coverage=0.5,
                      calibration_token_count=3, token_count=4)
    """
    threshold = conformal_threshold(calibration_scores, miscoverage_level)
    tried = np.asarray(scores, dtype=np.float64)
    if not len(tried):
        raise PredictionSetError("coverage must be of at least one token, got none.")
    return ConformalCoverage(
        threshold,
        float((tried <= threshold + MASS_TOLERANCE).mean()),
        len(np.asarray(calibration_scores)),
        len(tried),
    )
