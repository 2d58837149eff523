"""Exact forecasts of the tokens of a text, each distinct row held once."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flows.language_models.errors import ForecastError
from flows.language_models.vocabulary import UNKNOWN_ID, EncodedText

_CHUNK_ELEMENTS = 1 << 20
"""Numbers raised to powers at once: scratch space that stays in the processor's cache."""


@dataclass(frozen=True)
class Forecasts:
    """What a language model said about every token of a text.

    Attributes
    ----------
    log_probabilities : ndarray of float64, shape (rows, V)
        Distinct rows z in nats, normalised; −inf marks an impossible outcome.
    row_of_token : ndarray of int64, shape (tokens,)
        Which row forecast which token.
    text : EncodedText
        The tokens, their places and outcomes.
    """

    log_probabilities: NDArray[np.float64]
    row_of_token: NDArray[np.int64]
    text: EncodedText

    def __post_init__(self) -> None:
        rows, outcomes = self.log_probabilities.shape
        if len(self.row_of_token) != len(self.text):
            raise ForecastError(
                "every token must have one row, got "
                f"{len(self.row_of_token)} rows of tokens for {len(self.text)} tokens."
            )
        if len(self.text) and not (
            self.row_of_token.min() >= 0
            and self.row_of_token.max() < rows
            and self.text.token_id.max() < outcomes
        ):
            raise ForecastError(
                f"rows must be below {rows} and outcomes below {outcomes}, got up to "
                f"{self.row_of_token.max()} and {self.text.token_id.max()}; encode the text with "
                "the vocabulary of its language model."
            )

    @cached_property
    def log_probability_nats(self) -> NDArray[np.float64]:
        """z of the outcome of every token, shape (tokens,)."""
        return self.log_probabilities[self.row_of_token, self.text.token_id]

    @cached_property
    def order(self) -> NDArray[np.int32]:
        """Outcomes of every row from the likeliest, equal ones by number; shape (rows, V).

        One order serves every temperature: none moves a place.
        """
        found = np.empty(self.log_probabilities.shape, dtype=np.int32)
        for place, row in enumerate(self.log_probabilities):
            found[place] = np.argsort(-row, kind="stable")
        return found

    def where(self, is_kept: NDArray[np.bool_]) -> Forecasts:
        """Only the tokens that are kept, shape (tokens,), and the rows that they use."""
        used, row_of_token = np.unique(self.row_of_token[is_kept], return_inverse=True)
        return Forecasts(
            self.log_probabilities[used],
            row_of_token.astype(np.int64),
            self.text.where(is_kept),
        )

    def with_unknown_share(self, unknown_share: float) -> Forecasts:
        """Give ``<unk>`` the mass e in every row and scale the rest to 1 − e.

        The repair that a closed vocabulary needs on open text, and that no temperature can make:
        F′ = e on ``<unk>``, (1 − e)·F/(1 − F_unk) on the others.

        Parameters
        ----------
        unknown_share : float
            e, in (0, 1).

        Raises
        ------
        ForecastError
            e is outside (0, 1): one side would be called impossible.
        """
        if not 0.0 < unknown_share < 1.0:
            raise ForecastError(
                f"unknown_share must be between 0 and 1, both excluded, got {unknown_share}."
            )
        before = np.exp(self.log_probabilities[:, UNKNOWN_ID])
        scale = math.log1p(-unknown_share) - np.log1p(-before)
        rows = self.log_probabilities + scale[:, None]
        rows[:, UNKNOWN_ID] = math.log(unknown_share)
        return replace(self, log_probabilities=rows)


@dataclass(frozen=True)
class RowMoments:
    """Of every row under softmax(βz), shape (rows,): with E and Var over its outcomes.

    Attributes
    ----------
    log_partition : ndarray of float64
        log Z(β) = log Σ exp(βz), nats.
    mean, variance : ndarray of float64
        E z and Var z, nats and nats².
    """

    log_partition: NDArray[np.float64]
    mean: NDArray[np.float64]
    variance: NDArray[np.float64]


def row_moments(
    log_probabilities: NDArray[np.float64], inverse_temperature: float = 1.0
) -> RowMoments:
    """Moments of every row at β, all measured from its top so that nothing overflows.

    Parameters
    ----------
    log_probabilities : ndarray of float64, shape (rows, V)
    inverse_temperature : float
        β > 0.

    Examples
    --------
    >>> row_moments(np.log([[0.5, 0.5]])).log_partition.tolist()
    [0.0]
    """
    row_count, outcome_count = log_probabilities.shape
    total, mean, square = (np.empty(row_count) for _ in range(3))
    top = log_probabilities.max(axis=1, initial=-np.inf)
    chunk = max(1, _CHUNK_ELEMENTS // outcome_count)
    for start in range(0, row_count, chunk):
        part = slice(start, start + chunk)
        below = log_probabilities[part] - top[part, None]
        powers = np.exp(inverse_temperature * below)
        below[powers == 0.0] = 0.0  # adds to no moment, and 0 · −inf would be NaN
        total[part] = powers.sum(axis=1)
        mean[part] = (powers * below).sum(axis=1) / total[part]
        below -= mean[part, None]
        square[part] = (powers * below * below).sum(axis=1) / total[part]
    return RowMoments(np.log(total) + inverse_temperature * top, mean + top, square)
