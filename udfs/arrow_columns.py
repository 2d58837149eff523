"""From Arrow columns to Python rows and from frozen dataclasses back to Arrow structs."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.errors import CalibraryError

_ARROW_TYPES: dict[str, pa.DataType] = {
    "bool": pa.bool_(),
    "int": pa.int32(),
    "int | None": pa.int32(),
    "float": pa.float64(),
    "float | None": pa.float64(),
    "str": pa.string(),
    "str | None": pa.string(),
    "IouStatus": pa.string(),
    "Values": pa.list_(pa.float64()),
    "tuple[float, ...]": pa.list_(pa.float64()),
    "tuple[float | None, ...]": pa.list_(pa.float64()),
    "tuple[tuple[float, ...], ...]": pa.list_(pa.list_(pa.float64())),
}
"""Arrow's word for every annotation that a result of a UDF may carry."""


class NullElementError(CalibraryError):
    """A list given to a UDF holds NULL."""


def unnested(lists: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the offsets of *lists*, from 0, and what they hold, one after the other."""
    if lists.null_count:
        raise NullElementError("a set must not hold NULL; leave that story out.")
    if pa.types.is_fixed_size_list(lists.type):
        lists = lists.cast(pa.list_(lists.type.value_type))
    offsets = lists.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    return offsets - offsets[0], lists.flatten()


def without_nulls(lists: pa.Array, name: str) -> Sequence[Any]:
    """Return *lists* as Python lists, none of them holding NULL at any depth."""
    inner = lists
    while pa.types.is_nested(inner.type):
        inner = inner.flatten()
        refuse_nulls(inner, name)
    values: list[Any] = lists.to_pylist()
    return values


def number_lists(lists: pa.Array) -> list[NDArray[np.float64]]:
    """Return *lists* of numbers as arrays, NaN for NULL."""
    offsets, numbers = unnested(lists)
    values = numbers.to_numpy(zero_copy_only=False).astype(np.float64)
    return np.split(values, offsets[1:-1])


def refuse_nulls(values: pa.Array, name: str) -> None:
    """Raise `NullElementError` where *values*, the content of *name*, holds NULL."""
    if values.null_count:
        raise NullElementError(
            f"{name} must not hold NULL, got {values.null_count} of {len(values)}; leave them out."
        )


def structs(kind: type, rows: Sequence[Any]) -> pa.Array:
    """Return *rows*, all of the frozen dataclass *kind*, as an Arrow array of structs."""
    fields = [
        pa.field(field.name, _ARROW_TYPES[str(field.type)]) for field in dataclasses.fields(kind)
    ]
    # From pandas' point of view NaN is NULL, which is what an undefined number becomes.
    columns = [
        pa.array([getattr(row, field.name) for row in rows], field.type, from_pandas=True)
        for field in fields
    ]
    return pa.StructArray.from_arrays(columns, fields=fields)


def lists_of_structs(kind: type, groups: Sequence[Sequence[Any]]) -> pa.Array:
    """Return *groups* of rows of *kind* as an Arrow array of lists of structs."""
    offsets = np.cumsum([0, *(len(group) for group in groups)])
    rows = [row for group in groups for row in group]
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), structs(kind, rows))
