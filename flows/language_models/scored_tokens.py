"""Scored tokens: what a forecast said about the token that came, at any temperature.

Sums over a row run from its likeliest outcome down, each distinct row once per temperature.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flows.language_models.errors import ForecastError
from flows.language_models.forecasts import Forecasts, row_moments
from flows.language_models.vocabulary import UNKNOWN_ID
from udfs.prediction_sets import is_in_nucleus

NUCLEUS_MASS = 0.9
"""Of the nucleus whose kept mass and size every scored token carries."""

_CHUNK_ELEMENTS = 1 << 20


@dataclass(frozen=True)
class ScoredTokens:
    """One entry per token in every array, shape (tokens,), in the order of the text.

    Attributes
    ----------
    document_index, sentence_index, position : ndarray of int64
        Where the token stands, each from 0; `position` is that in its sentence.
    token_id, top_token_id : ndarray of int64
        Outcome that came, and the likeliest one; of equal ones the lowest number.
    confidence : ndarray of float64
        Probability of the top label, in (0, 1].
    is_hit : ndarray of bool
        Whether the top label came; the same at every temperature.
    log_probability_nats : ndarray of float64
        log p of the outcome, at most 0; −inf where it was called impossible.
    entropy_nats : ndarray of float64
        Of the whole row, in [0, log V].
    rank : ndarray of int64
        0 for the top label; the same at every temperature.
    mass_ahead : ndarray of float64
        Probability of all outcomes of lower rank, in [0, 1).
    kept_mass : ndarray of float64
        Mass of the row's nucleus, from `NUCLEUS_MASS` to 1.
    prediction_set_size : ndarray of int64
        Outcomes in that nucleus, at least 1. The token is covered where its rank is below it.
    byte_count : ndarray of int64
        UTF-8 bytes of the token as written.
    is_unknown : ndarray of bool
        Whether the token came as ``<unk>``.
    """

    document_index: NDArray[np.int64]
    sentence_index: NDArray[np.int64]
    position: NDArray[np.int64]
    token_id: NDArray[np.int64]
    top_token_id: NDArray[np.int64]
    confidence: NDArray[np.float64]
    is_hit: NDArray[np.bool_]
    log_probability_nats: NDArray[np.float64]
    entropy_nats: NDArray[np.float64]
    rank: NDArray[np.int64]
    mass_ahead: NDArray[np.float64]
    kept_mass: NDArray[np.float64]
    prediction_set_size: NDArray[np.int64]
    byte_count: NDArray[np.int64]
    is_unknown: NDArray[np.bool_]

    @property
    def is_covered(self) -> NDArray[np.bool_]:
        """Whether the token lies in its nucleus."""
        return self.rank < self.prediction_set_size

    def to_arrow(self) -> pa.Table:
        """Columns of the same names, one row per token."""
        return pa.table({field.name: pa.array(getattr(self, field.name)) for field in fields(self)})


@dataclass(frozen=True)
class _RowScores:
    """Of every distinct row at one temperature, and of its asked outcomes."""

    confidence: NDArray[np.float64]
    entropy_nats: NDArray[np.float64]
    kept_mass: NDArray[np.float64]
    prediction_set_size: NDArray[np.int64]
    log_partition: NDArray[np.float64]
    rank: NDArray[np.int64]
    mass_ahead: NDArray[np.float64]


def scored_tokens(forecasts: Forecasts, temperature: float = 1.0) -> ScoredTokens:
    """Score every token of a text at τ.

    Parameters
    ----------
    forecasts : Forecasts
        Exact rows; so any τ > 0 may be asked for, not only those of a sketch.
    temperature : float
        τ; each row becomes softmax(z/τ). Above 1 flattens.

    Returns
    -------
    ScoredTokens

    Raises
    ------
    ForecastError
        τ is not a finite number above 0.

    References
    ----------
    .. [1] DESIGN.md, section 5, "A scored token".
    """
    if not 0.0 < temperature < float("inf"):
        raise ForecastError(f"temperature must be above 0 and finite, got {temperature}.")
    text, row = forecasts.text, forecasts.row_of_token
    outcome_count = forecasts.log_probabilities.shape[1]
    pairs, pair_of_token = np.unique(row * outcome_count + text.token_id, return_inverse=True)
    scores = _row_scores(forecasts, 1.0 / temperature, pairs)
    top = forecasts.order[:, 0].astype(np.int64)[row]
    # At τ = 1 the rows say it themselves; a partition of 1 + 1e-16 would only blur it.
    own = forecasts.log_probability_nats
    if temperature != 1.0:
        own = own / temperature - scores.log_partition[row]
    return ScoredTokens(
        document_index=text.document_index,
        sentence_index=text.sentence_index,
        position=text.position,
        token_id=text.token_id,
        top_token_id=top,
        confidence=scores.confidence[row],
        is_hit=top == text.token_id,
        log_probability_nats=own,
        entropy_nats=scores.entropy_nats[row],
        rank=scores.rank[pair_of_token],
        mass_ahead=scores.mass_ahead[pair_of_token],
        kept_mass=scores.kept_mass[row],
        prediction_set_size=scores.prediction_set_size[row],
        byte_count=text.byte_count,
        is_unknown=text.token_id == UNKNOWN_ID,
    )


def _row_scores(
    forecasts: Forecasts, inverse_temperature: float, pairs: NDArray[np.int64]
) -> _RowScores:
    """Score rows, and sorted *pairs* of row and outcome, coded row · V + outcome."""
    rows = forecasts.log_probabilities
    row_count, outcome_count = rows.shape
    moments = row_moments(rows, inverse_temperature)
    confidence, kept_mass = np.empty(row_count), np.empty(row_count)
    size = np.empty(row_count, dtype=np.int64)
    rank, ahead_of = np.empty(len(pairs), dtype=np.int64), np.empty(len(pairs))
    pair_rows, pair_outcomes = np.divmod(pairs, outcome_count)
    chunk = max(1, _CHUNK_ELEMENTS // outcome_count)
    for start in range(0, row_count, chunk):
        stop = min(start + chunk, row_count)
        order = forecasts.order[start:stop]
        ordered = np.take_along_axis(rows[start:stop], order, axis=1)
        masses = np.exp(inverse_temperature * ordered - moments.log_partition[start:stop, None])
        confidence[start:stop] = masses[:, 0]
        up_to = np.cumsum(masses, axis=1)
        ahead = np.concatenate([np.zeros((stop - start, 1)), up_to[:, :-1]], axis=1)
        size[start:stop] = is_in_nucleus(ahead, NUCLEUS_MASS).sum(axis=1)
        kept_mass[start:stop] = np.minimum(
            np.take_along_axis(up_to, size[start:stop, None] - 1, axis=1)[:, 0], 1.0
        )
        part = slice(*np.searchsorted(pair_rows, [start, stop]))
        places = np.empty_like(order)
        np.put_along_axis(places, order, np.arange(outcome_count, dtype=np.int32)[None], axis=1)
        rank[part] = places[pair_rows[part] - start, pair_outcomes[part]]
        ahead_of[part] = ahead[pair_rows[part] - start, rank[part]]
    entropy = moments.log_partition - inverse_temperature * moments.mean
    return _RowScores(
        np.minimum(confidence, 1.0),
        np.maximum(entropy, 0.0),
        kept_mass,
        size,
        moments.log_partition,
        rank,
        ahead_of,
    )
