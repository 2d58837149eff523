"""The UDFs as DuckDB sees them: one declarative table, name and SQL signature in sight.

A UDF has the same name and meaning in SQL and in Python. All are vectorised over Arrow chunks of up
to 2,048 rows; NULL in gives NULL out; an error arrives as its sentence. Arithmetic that SQL can do
itself is a macro of the dbt project, not a UDF.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import FunctionNullHandling, PythonUDFType
from numpy.typing import NDArray

from udfs.credal_overlaps import CredalOverlap, credal_overlap
from udfs.credal_sets import CredalSet, credal_set
from udfs.diversity import (
    DiversityError,
    jaccard_distance_of_codes,
    mean_pairwise_cosine_distance,
)
from udfs.errors import CalibraryError
from udfs.frames import AxisScale, axis_scale
from udfs.sketch_macros import SKETCH_MACROS


class NullElementError(CalibraryError):
    """A list given to a UDF holds NULL."""


@dataclass(frozen=True)
class Udf:
    """One function in SQL."""

    name: str
    parameters: tuple[str, ...]
    """SQL types, in order."""
    returns: str
    function: Callable[..., pa.Array]
    """From Arrow arrays without NULL rows to an Arrow array."""
    meaning: str


def _distances_of_embeddings(sets: pa.Array) -> pa.Array:
    offsets, stories = _unnested(sets)
    story_offsets, numbers = _unnested(stories)
    _refuse_nulls(numbers, "embeddings")
    values = numbers.to_numpy(zero_copy_only=False)
    results = []
    for start, stop in pairwise(offsets.tolist()):
        bounds = story_offsets[start : stop + 1]
        dimensions = np.unique(np.diff(bounds))
        if len(dimensions) > 1:
            raise DiversityError(
                "the embeddings of a set must all be of one dimension, "
                f"got {dimensions.tolist()}; measure its stories with one embedding model."
            )
        rows = values[bounds[0] : bounds[-1]].reshape(stop - start, -1) if stop > start else ()
        results.append(mean_pairwise_cosine_distance(rows))
    return pa.array(results, pa.float64())


def _distances_of_item_sets(sets: pa.Array) -> pa.Array:
    offsets, stories = _unnested(sets)
    story_offsets, items = _unnested(stories)
    _refuse_nulls(items, "items")
    encoded = pc.dictionary_encode(items)
    codes = encoded.indices.to_numpy(zero_copy_only=False).astype(np.int64)
    places = np.empty(len(encoded.dictionary), dtype=np.int64)
    results = []
    for start, stop in pairwise(offsets.tolist()):
        bounds = story_offsets[start : stop + 1]
        own = codes[bounds[0] : bounds[-1]]
        results.append(jaccard_distance_of_codes(own, bounds - bounds[0], places))
    return pa.array(results, pa.float64())


def _scales(lists: pa.Array) -> pa.Array:
    return _structs(AxisScale, [axis_scale(values) for values in _without_nulls(lists, "an axis")])


def _sets(lists: pa.Array) -> pa.Array:
    return _structs(CredalSet, [credal_set(points) for points in _without_nulls(lists, "points")])


def _overlaps(human: pa.Array, source: pa.Array) -> pa.Array:
    pairs = zip(
        _without_nulls(human, "human_points"),
        _without_nulls(source, "story_source_points"),
        strict=True,
    )
    return _structs(CredalOverlap, [credal_overlap(*pair) for pair in pairs])


POINTS = "DOUBLE[][]"

_ARROW_FIELDS: dict[type, pa.StructType] = {
    AxisScale: pa.struct([("mean", pa.float64()), ("sd", pa.float64())]),
    CredalSet: pa.struct(
        [
            ("hull_rank", pa.int32()),
            ("hull_measure", pa.float64()),
            ("hull_volume", pa.float64()),
            ("vertex_count", pa.int32()),
            ("vertices", pa.list_(pa.list_(pa.float64()))),
            ("is_degenerate", pa.bool_()),
            ("rank_tolerance", pa.float64()),
            ("singular_values", pa.list_(pa.float64())),
        ]
    ),
    CredalOverlap: pa.struct(
        [(field.name, pa.float64()) for field in dataclasses.fields(CredalOverlap)]
    ),
}

UDFS: tuple[Udf, ...] = (
    Udf(
        "mean_pairwise_cosine_distance",
        ("FLOAT[][]",),
        "DOUBLE",
        _distances_of_embeddings,
        "Semantic diversity of one set of stories from their embeddings; NULL below two stories.",
    ),
    Udf(
        "mean_pairwise_jaccard_distance",
        ("VARCHAR[][]",),
        "DOUBLE",
        _distances_of_item_sets,
        "Lexical or syntactic diversity of one set of stories; NULL below two, or two empty sets.",
    ),
    Udf(
        "axis_scale",
        ("DOUBLE[]",),
        "STRUCT(mean DOUBLE, sd DOUBLE)",
        _scales,
        "Mean and population standard deviation, sd exactly 0 for a constant axis.",
    ),
    Udf(
        "credal_set",
        (POINTS,),
        "STRUCT(hull_rank INTEGER, hull_measure DOUBLE, hull_volume DOUBLE, vertex_count INTEGER, "
        "vertices DOUBLE[][], is_degenerate BOOLEAN, rank_tolerance DOUBLE, "
        "singular_values DOUBLE[])",
        _sets,
        "Convex hull of diversity vectors at their affine rank.",
    ),
    Udf(
        "credal_overlap",
        (POINTS, POINTS),
        "STRUCT("
        + ", ".join(f"{field.name} DOUBLE" for field in dataclasses.fields(CredalOverlap))
        + ")",
        _overlaps,
        "Comparison of a story source's points (second) with the human ones (first).",
    ),
)


def register_all(connection: duckdb.DuckDBPyConnection) -> None:
    """Create every function of `UDFS` on *connection*.

    They are declared without side effects, so DuckDB may fold a call on constants into one.
    """
    for udf in UDFS:
        connection.create_function(
            udf.name,
            _with_nulls(udf),
            [duckdb.sqltype(kind) for kind in udf.parameters],
            duckdb.sqltype(udf.returns),
            type=PythonUDFType.ARROW,
            null_handling=FunctionNullHandling.SPECIAL,
        )


def create_sketch_macros(connection: duckdb.DuckDBPyConnection) -> None:
    """Store every macro of `SKETCH_MACROS` in the file that *connection* writes.

    Unlike a UDF, a macro stays in the file, and its readers need no Python.
    """
    for macro in SKETCH_MACROS:
        for statement in macro.definitions:
            connection.execute(statement)


def _with_nulls(udf: Udf) -> Callable[..., pa.Array]:
    """Give NULL for rows with a NULL argument and call the function on the others."""

    def call(*arguments: Any) -> pa.Array:
        columns = [_one_chunk(argument) for argument in arguments]
        known = columns[0].is_valid()
        for column in columns[1:]:
            known = pc.and_(known, column.is_valid())
        if pc.all(known).as_py() is not False:
            return udf.function(*columns)
        found = udf.function(*(column.filter(known) for column in columns))
        places = pc.if_else(known, pc.subtract(pc.cumulative_sum(known.cast(pa.int64())), 1), None)
        return found.take(places)

    # DuckDB asks for as many Python parameters as SQL ones.
    if len(udf.parameters) == 1:
        return lambda first: call(first)
    return lambda first, second: call(first, second)


def _one_chunk(argument: Any) -> pa.Array:
    return argument.combine_chunks() if isinstance(argument, pa.ChunkedArray) else argument


def _unnested(lists: pa.Array) -> tuple[NDArray[np.int64], pa.Array]:
    """Return the offsets of *lists*, from 0, and what they hold, one after the other."""
    if lists.null_count:
        raise NullElementError("a set must not hold NULL; leave that story out.")
    if pa.types.is_fixed_size_list(lists.type):
        lists = lists.cast(pa.list_(lists.type.value_type))
    offsets = lists.offsets.to_numpy(zero_copy_only=False).astype(np.int64)
    return offsets - offsets[0], lists.flatten()


def _without_nulls(lists: pa.Array, name: str) -> Sequence[Any]:
    """Return *lists* as Python lists, none of them holding NULL at any depth."""
    inner = lists
    while pa.types.is_nested(inner.type):
        inner = inner.flatten()
        _refuse_nulls(inner, name)
    values: list[Any] = lists.to_pylist()
    return values


def _refuse_nulls(values: pa.Array, name: str) -> None:
    if values.null_count:
        raise NullElementError(
            f"{name} must not hold NULL, got {values.null_count} of {len(values)}; leave them out."
        )


def _structs(kind: type, rows: Sequence[Any]) -> pa.Array:
    fields = list(_ARROW_FIELDS[kind])
    columns = [pa.array([getattr(row, field.name) for row in rows], field.type) for field in fields]
    return pa.StructArray.from_arrays(columns, fields=fields)
