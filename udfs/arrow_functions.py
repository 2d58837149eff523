"""The UDFs as functions of Arrow arrays, which is how DuckDB calls them: chunk in, chunk out.

Each is the function of that name, row by row; `udfs.registry` gives it its SQL signature.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

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
from udfs.document_bootstrap import (
    ErrorRanges,
    SumRange,
    bootstrap_calibration_errors,
    bootstrap_ratio,
    bootstrap_temperature,
)
from udfs.frames import AxisScale, axis_scale
from udfs.hypothesis_tests import (
    HypothesisTest,
    analysis_of_variance,
    mann_whitney_test,
    spearman_test,
    student_t_test,
)
from udfs.paired_comparisons import PairedComparison, paired_comparison
from udfs.principal_components import PrincipalComponents, principal_components
from udfs.resampled_overlaps import (
    ResampledMeasure,
    bootstrap_overlaps,
    split_half_overlaps,
)
from udfs.resampling import ValueRange, paired_difference_range, value_range
from udfs.selective_prediction import kendall_tau_b
from udfs.sketched_temperatures import SketchedFit, fit_mean_sketch
from udfs.twins import poisson_binomial_deviation
from udfs.variance_decompositions import VarianceDecomposition, variance_decomposition


def twin_deviations(lists: pa.Array) -> pa.Array:
    """Mean absolute deviation of each bin's calibrated twin."""
    bins = without_nulls(lists, "confidences")
    return pa.array([poisson_binomial_deviation(values) for values in bins], pa.float64())


def ratio_ranges(*columns: pa.Array) -> pa.Array:
    """`bootstrap_ratio` of each pair of lists of sums."""
    rows = zip(*_listed(columns), strict=True)
    return structs(SumRange, [bootstrap_ratio(*row) for row in rows])


def temperature_ranges(*columns: pa.Array) -> pa.Array:
    """`bootstrap_temperature` of each test set's sums."""
    rows = zip(*_listed(columns), strict=True)
    return structs(SumRange, [bootstrap_temperature(*row) for row in rows])


def error_ranges(*columns: pa.Array) -> pa.Array:
    """`bootstrap_calibration_errors` of each test set's sums."""
    rows = zip(*_listed(columns), strict=True)
    return lists_of_structs(ErrorRanges, [bootstrap_calibration_errors(*row) for row in rows])


def _listed(columns: Sequence[pa.Array]) -> list[Sequence[Any]]:
    """Return the rows of each column: whole lists of numbers as arrays, numbers as they are."""
    return [
        without_nulls(column, "sums of documents")
        if pa.types.is_nested(column.type)
        else column.to_pylist()
        for column in columns
    ]


def temperature_fits(sketches: pa.Array, log_probabilities: pa.Array) -> pa.Array:
    """`fit_mean_sketch` of each mean sketch."""
    rows = zip(without_nulls(sketches, "a mean sketch"), log_probabilities.to_pylist(), strict=True)
    return structs(SketchedFit, [fit_mean_sketch(*row) for row in rows])


def rank_correlations(first: pa.Array, second: pa.Array) -> pa.Array:
    """`kendall_tau_b` of each pair of lists; NULL where there is no order to compare."""
    pairs = zip(number_lists(first), number_lists(second), strict=True)
    return pa.array([kendall_tau_b(*pair) for pair in pairs], pa.float64())


def distances_of_embeddings(sets: pa.Array) -> pa.Array:
    """Semantic diversity of each set of embeddings."""
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


def distances_of_item_sets(sets: pa.Array) -> pa.Array:
    """Lexical or syntactic diversity of each set of item sets."""
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


def scales(lists: pa.Array) -> pa.Array:
    """`axis_scale` of each list."""
    return structs(AxisScale, [axis_scale(values) for values in without_nulls(lists, "an axis")])


def credal_sets(lists: pa.Array) -> pa.Array:
    """`credal_set` of each list of points."""
    return structs(CredalSet, [credal_set(points) for points in without_nulls(lists, "points")])


def overlaps(human: pa.Array, source: pa.Array) -> pa.Array:
    """`credal_overlap` of each pair."""
    return structs(CredalOverlap, [credal_overlap(*pair) for pair in _pairs(human, source)])


def paired_comparisons(human: pa.Array, source: pa.Array) -> pa.Array:
    """`paired_comparison` of each pair."""
    return structs(PairedComparison, [paired_comparison(*pair) for pair in _pairs(human, source)])


def _pairs(human: pa.Array, source: pa.Array) -> Iterator[tuple[Any, Any]]:
    return zip(
        without_nulls(human, "human_points"),
        without_nulls(source, "story_source_points"),
        strict=True,
    )


def ranges(lists: pa.Array) -> pa.Array:
    """`value_range` of each list."""
    return structs(ValueRange, [value_range(values) for values in number_lists(lists)])


def difference_ranges(first: pa.Array, second: pa.Array) -> pa.Array:
    """`paired_difference_range` of each pair of lists."""
    pairs = zip(number_lists(first), number_lists(second), strict=True)
    return structs(ValueRange, [paired_difference_range(*pair) for pair in pairs])


def bootstraps(human: pa.Array, source: pa.Array, *others: pa.Array) -> pa.Array:
    """`bootstrap_overlaps` of each pair."""
    return _resampled(bootstrap_overlaps, human, source, *others)


def halves(human: pa.Array, source: pa.Array, *others: pa.Array) -> pa.Array:
    """`split_half_overlaps` of each pair."""
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


def spearman_tests(first: pa.Array, second: pa.Array) -> pa.Array:
    """`spearman_test` of each pair of lists."""
    return _tests(spearman_test, first, second)


def student_t_tests(first: pa.Array, second: pa.Array) -> pa.Array:
    """`student_t_test` of each pair of lists."""
    return _tests(student_t_test, first, second)


def mann_whitney_tests(first: pa.Array, second: pa.Array) -> pa.Array:
    """`mann_whitney_test` of each pair of lists."""
    return _tests(mann_whitney_test, first, second)


def _tests(
    function: Callable[[Any, Any], HypothesisTest], first: pa.Array, second: pa.Array
) -> pa.Array:
    pairs = zip(without_nulls(first, "values"), without_nulls(second, "values"), strict=True)
    return structs(HypothesisTest, [function(*pair) for pair in pairs])


def analyses_of_variance(groups: pa.Array) -> pa.Array:
    """`analysis_of_variance` of each list of groups."""
    found = [analysis_of_variance(each) for each in without_nulls(groups, "groups")]
    return structs(HypothesisTest, found)


def components(lists: pa.Array) -> pa.Array:
    """`principal_components` of each list of points."""
    found = [principal_components(points) for points in without_nulls(lists, "points")]
    return structs(PrincipalComponents, found)


def decompositions(
    sets: pa.Array, flags: pa.Array, ddofs: pa.Array, counts: pa.Array, seeds: pa.Array
) -> pa.Array:
    """`variance_decomposition` of each list of sets of points."""
    numbers = (column.to_pylist() for column in (flags, ddofs, counts, seeds))
    rows = zip(without_nulls(sets, "strategy_points"), *numbers, strict=True)
    return structs(VarianceDecomposition, [variance_decomposition(*row) for row in rows])
