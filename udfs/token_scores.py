"""What a scored token is made of: one row of probabilities reduced to what the warehouse keeps."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from udfs.temperature_sketch import mass_ahead_sketch, temperature_sketch


@dataclass(frozen=True)
class TokenScores:
    """Scores of several tokens.

    Attributes
    ----------
    top_label : ndarray of int64, shape (rows,)
        The likeliest outcome; the one of lowest number among equals.
    confidence : ndarray of float64, shape (rows,)
        Its probability.
    log_probability_nats : ndarray of float64, shape (rows,)
        Log-probability of the outcome; −inf where it was called impossible.
    entropy_nats : ndarray of float64, shape (rows,)
    rank : ndarray of int64, shape (rows,)
        Outcomes ahead of the one that came: likelier, or as likely with a lower number.
    mass_ahead : ndarray of float64, shape (rows,)
        Their probability.
    temperature_sketch, mass_ahead_sketch : ndarray of float32, shape (rows, 16)
        See `udfs.temperature_sketch`; the second is NaN at rank 0.
    """

    top_label: NDArray[np.int64]
    confidence: NDArray[np.float64]
    log_probability_nats: NDArray[np.float64]
    entropy_nats: NDArray[np.float64]
    rank: NDArray[np.int64]
    mass_ahead: NDArray[np.float64]
    temperature_sketch: NDArray[np.float32]
    mass_ahead_sketch: NDArray[np.float32]


def token_scores(probabilities: ArrayLike, outcome: ArrayLike) -> TokenScores:
    """Score the outcome of every row of probabilities.

    Parameters
    ----------
    probabilities : array_like of float, shape (rows, V)
        Rows of distributions, as the forecaster gave them: nothing is renormalised.
    outcome : array_like of int, shape (rows,)
        Number of the outcome that came, from 0.

    Examples
    --------
    >>> scores = token_scores([[0.25, 0.5, 0.25]], [2])
    >>> scores.confidence.tolist(), scores.rank.tolist(), scores.mass_ahead.tolist()
    ([0.5], [2], [0.75])
    """
    rows = np.atleast_2d(np.asarray(probabilities, dtype=np.float64))
    own = np.asarray(outcome, dtype=np.int64)[:, None]
    with np.errstate(divide="ignore"):  # an impossible outcome has the log-probability −inf
        logs = np.log(rows)
    came = np.take_along_axis(rows, own, axis=1)
    is_ahead = (rows > came) | ((rows == came) & (np.arange(rows.shape[1]) < own))
    entropy = -(rows * np.where(rows > 0.0, logs, 0.0)).sum(axis=1)
    return TokenScores(
        rows.argmax(axis=1),
        rows.max(axis=1),
        np.take_along_axis(logs, own, axis=1)[:, 0],
        np.maximum(entropy, 0.0),
        is_ahead.sum(axis=1),
        np.where(is_ahead, rows, 0.0).sum(axis=1),
        temperature_sketch(logs),
        mass_ahead_sketch(logs, own[:, 0]),
    )
