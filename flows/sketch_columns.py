"""Sketches as columns of ``raw.scored_tokens``."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.stored_sketches import AHEAD_SKETCH_BITS, SKETCH_BITS, stored_sketch


def sketch_columns(
    temperature_sketch: NDArray[np.float32], mass_ahead_sketch: NDArray[np.float32]
) -> dict[str, pa.Array]:
    """Return both sketches of some tokens as they are stored, under the names of their columns.

    Parameters
    ----------
    temperature_sketch, mass_ahead_sketch : ndarray of float32, shape (tokens, 16)
        Nats; a row of NaN, where a token has none, becomes NULL.

    Raises
    ------
    SketchError
        A coefficient does not fit into its units, see `udfs.stored_sketches.stored_sketch`.
    """
    return {
        "temperature_sketch": _lists(temperature_sketch, SKETCH_BITS),
        "mass_ahead_sketch": _lists(mass_ahead_sketch, AHEAD_SKETCH_BITS),
    }


def _lists(sketches: NDArray[np.float32], bits: NDArray[np.int64]) -> pa.Array:
    is_absent = np.isnan(sketches).any(axis=1)
    lengths = np.where(is_absent, 0, sketches.shape[1])
    offsets = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    stored = stored_sketch(sketches[~is_absent], bits)
    return pa.ListArray.from_arrays(
        pa.array(offsets), pa.array(stored.ravel()), mask=pa.array(is_absent)
    )
