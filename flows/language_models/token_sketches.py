"""Temperature sketches of exact forecasts, at the cost of their distinct rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flows.language_models.forecasts import Forecasts
from udfs.temperature_sketch import (
    NODE_INVERSE_TEMPERATURES,
    SKETCH_LENGTH,
    sketch_of_node_values,
)

_CHUNK_ELEMENTS = 1 << 20


@dataclass(frozen=True)
class TokenSketches:
    """What lets SQL ask for any temperature of the sketch's range without the rows.

    Attributes
    ----------
    temperature_sketch : ndarray of float32, shape (tokens, 16)
        Of log Z(β), see `udfs.temperature_sketch.temperature_sketch`.
    mass_ahead_sketch : ndarray of float32, shape (tokens, 16)
        Of the log of the mass ahead, before its division by Z; NaN throughout at rank 0.
    """

    temperature_sketch: NDArray[np.float32]
    mass_ahead_sketch: NDArray[np.float32]


def token_sketches(forecasts: Forecasts) -> TokenSketches:
    """Sketch every token of a text.

    Each row is raised to a power once per node and summed from its top down: the sums at the ranks
    of its outcomes are the masses ahead, the last is the partition.
    """
    rows, row = forecasts.log_probabilities, forecasts.row_of_token
    row_count, outcome_count = rows.shape
    pairs, pair_of_token = np.unique(
        row * outcome_count + forecasts.text.token_id, return_inverse=True
    )
    pair_rows, pair_outcomes = np.divmod(pairs, outcome_count)
    partition = np.empty((row_count, SKETCH_LENGTH))
    ahead = np.zeros((len(pairs), SKETCH_LENGTH))
    rank = np.empty(len(pairs), dtype=np.int64)
    chunk = max(1, _CHUNK_ELEMENTS // outcome_count)
    for start in range(0, row_count, chunk):
        order = forecasts.order[start : start + chunk]
        ordered = np.take_along_axis(rows[start : start + chunk], order, axis=1)
        part = slice(*np.searchsorted(pair_rows, [start, start + len(order)]))
        here = pair_rows[part] - start
        rank[part] = (order[here] == pair_outcomes[part, None]).argmax(axis=1)
        for node, inverse_temperature in enumerate(NODE_INVERSE_TEMPERATURES.tolist()):
            up_to = np.cumsum(np.exp(inverse_temperature * ordered), axis=1)
            partition[start : start + chunk, node] = np.log(up_to[:, -1])
            ahead[part, node] = np.log(up_to[here, np.maximum(rank[part] - 1, 0)])
    mass_ahead = sketch_of_node_values(ahead)
    mass_ahead[rank == 0] = np.nan
    return TokenSketches(sketch_of_node_values(partition)[row], mass_ahead[pair_of_token])
