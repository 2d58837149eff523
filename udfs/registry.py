"""The UDFs as DuckDB sees them: one declarative table, name and SQL signature in sight.

A UDF has the same name and meaning in SQL and in Python. All are vectorised over Arrow chunks of up
to 2,048 rows; NULL in gives NULL out; an error arrives as its sentence. Arithmetic that SQL can do
itself is a macro of the dbt project, not a UDF.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import FunctionNullHandling, PythonUDFType

from udfs.arrow_columns import (
    lists_of_structs,
    number_lists,
    refuse_nulls,
    structs,
    unnested,
    without_nulls,
)
from udfs.credal_overlaps import CredalOverlap, credal_overlap
from udfs.credal_sets import CredalSet, credal_set
from udfs.diversity import (
    DiversityError,
    jaccard_distance_of_codes,
    mean_pairwise_cosine_distance,
)
from udfs.frames import AxisScale, axis_scale
from udfs.paired_comparisons import PairedComparison, paired_comparison
from udfs.resampled_overlaps import (
    ResampledMeasure,
    bootstrap_overlaps,
    split_half_overlaps,
)
from udfs.resampling import ValueRange, paired_difference_range, value_range


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
    offsets, stories = unnested(sets)
    story_offsets, numbers = unnested(stories)
    refuse_nulls(numbers, "embeddings")
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
    offsets, stories = unnested(sets)
    story_offsets, items = unnested(stories)
    refuse_nulls(items, "items")
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
    return structs(AxisScale, [axis_scale(values) for values in without_nulls(lists, "an axis")])


def _sets(lists: pa.Array) -> pa.Array:
    return structs(CredalSet, [credal_set(points) for points in without_nulls(lists, "points")])


def _overlaps(human: pa.Array, source: pa.Array) -> pa.Array:
    return structs(CredalOverlap, [credal_overlap(*pair) for pair in _pairs(human, source)])


def _paired(human: pa.Array, source: pa.Array) -> pa.Array:
    return structs(PairedComparison, [paired_comparison(*pair) for pair in _pairs(human, source)])


def _pairs(human: pa.Array, source: pa.Array) -> Iterator[tuple[Any, Any]]:
    return zip(
        without_nulls(human, "human_points"),
        without_nulls(source, "story_source_points"),
        strict=True,
    )


def _ranges(lists: pa.Array) -> pa.Array:
    return structs(ValueRange, [value_range(values) for values in number_lists(lists)])


def _difference_ranges(first: pa.Array, second: pa.Array) -> pa.Array:
    pairs = zip(number_lists(first), number_lists(second), strict=True)
    return structs(ValueRange, [paired_difference_range(*pair) for pair in pairs])


def _bootstraps(human: pa.Array, source: pa.Array, *others: pa.Array) -> pa.Array:
    return _resampled(bootstrap_overlaps, human, source, *others)


def _halves(human: pa.Array, source: pa.Array, *others: pa.Array) -> pa.Array:
    return _resampled(split_half_overlaps, human, source, *others)


def _resampled(
    function: Callable[..., list[ResampledMeasure]],
    human: pa.Array,
    source: pa.Array,
    units: pa.Array,
    counts: pa.Array,
    seeds: pa.Array,
) -> pa.Array:
    rows = zip(
        without_nulls(human, "human_points"),
        without_nulls(source, "story_source_points"),
        without_nulls(units, "axis_units"),
        counts.to_pylist(),
        seeds.to_pylist(),
        strict=True,
    )
    return lists_of_structs(ResampledMeasure, [function(*row) for row in rows])


POINTS = "DOUBLE[][]"
RANGE = "STRUCT(mean DOUBLE, low DOUBLE, high DOUBLE, value_count INTEGER)"
DRAWS = "STRUCT(frame_index INTEGER, measure_name VARCHAR, draws DOUBLE[])[]"

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
        + ", ".join(
            f"{field.name} {'VARCHAR' if field.name == 'iou_status' else 'DOUBLE'}"
            for field in dataclasses.fields(CredalOverlap)
        )
        + ")",
        _overlaps,
        "Comparison of a story source's points (second) with the human ones (first).",
    ),
    Udf(
        "paired_comparison",
        (POINTS, POINTS),
        "STRUCT(wasserstein_distances DOUBLE[], wasserstein_mean DOUBLE, "
        "rank_correlations DOUBLE[], rank_correlation_mean DOUBLE)",
        _paired,
        "The same points axis by axis: across prompts, and prompt by prompt.",
    ),
    Udf(
        "bootstrap_overlaps",
        (POINTS, POINTS, POINTS, "INTEGER", "INTEGER"),
        DRAWS,
        _bootstraps,
        "Every measure over resamples of the prompts: points as above, axis units, count, seed.",
    ),
    Udf(
        "split_half_overlaps",
        (POINTS, POINTS, POINTS, "INTEGER", "INTEGER"),
        DRAWS,
        _halves,
        "The same between people on one random half of the prompts and a set on the other.",
    ),
    Udf(
        "value_range",
        ("DOUBLE[]",),
        RANGE,
        _ranges,
        "Mean and central 95 % of a list; NULL elements are left out.",
    ),
    Udf(
        "paired_difference_range",
        ("DOUBLE[]", "DOUBLE[]"),
        RANGE,
        _difference_ranges,
        "The same of second minus first, element by element.",
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

    # DuckDB asks for as many Python parameters as SQL ones, and looks for them in the signature.
    parameters = [
        inspect.Parameter(f"argument_{place}", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        for place in range(len(udf.parameters))
    ]
    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    return call


def _one_chunk(argument: Any) -> pa.Array:
    return argument.combine_chunks() if isinstance(argument, pa.ChunkedArray) else argument
