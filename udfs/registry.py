"""The UDFs as DuckDB sees them: one declarative table, name and SQL signature in sight.

A UDF has the same name and meaning in SQL and in Python. All are vectorised over Arrow chunks of up
to 2,048 rows; NULL in gives NULL out; an error arrives as its sentence. Arithmetic that SQL can do
itself is a macro of the dbt project, not a UDF.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
from duckdb.func import FunctionNullHandling, PythonUDFType

from udfs import arrow_functions
from udfs.credal_overlaps import CredalOverlap


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


POINTS = "DOUBLE[][]"
RANGE = "STRUCT(mean DOUBLE, low DOUBLE, high DOUBLE, value_count INTEGER)"
TEST = (
    "STRUCT(statistic DOUBLE, p_value DOUBLE, exact_p_value DOUBLE, effect_size DOUBLE, "
    "effect_size_ddof_0 DOUBLE, value_count INTEGER, degrees_of_freedom DOUBLE, "
    "degrees_of_freedom_within DOUBLE)"
)
SUM_RANGE = "STRUCT(low DOUBLE, high DOUBLE, unit_count INTEGER, replicate_count INTEGER)"
DRAWS = "STRUCT(frame_index INTEGER, measure_name VARCHAR, draws DOUBLE[])[]"

UDFS: tuple[Udf, ...] = (
    Udf(
        "mean_pairwise_cosine_distance",
        ("FLOAT[][]",),
        "DOUBLE",
        arrow_functions.distances_of_embeddings,
        "Semantic diversity of one set of stories from their embeddings; NULL below two stories.",
    ),
    Udf(
        "mean_pairwise_jaccard_distance",
        ("VARCHAR[][]",),
        "DOUBLE",
        arrow_functions.distances_of_item_sets,
        "Lexical or syntactic diversity of one set of stories; NULL below two, or two empty sets.",
    ),
    Udf(
        "axis_scale",
        ("DOUBLE[]",),
        "STRUCT(mean DOUBLE, sd DOUBLE)",
        arrow_functions.scales,
        "Mean and population standard deviation, sd exactly 0 for a constant axis.",
    ),
    Udf(
        "poisson_binomial_deviation",
        ("DOUBLE[]",),
        "DOUBLE",
        arrow_functions.twin_deviations,
        "Mean absolute deviation of the hits of one bin's calibrated twin, exactly, in tokens.",
    ),
    Udf(
        "fit_mean_sketch",
        ("DOUBLE[]", "DOUBLE"),
        "STRUCT(status VARCHAR, fitted_temperature DOUBLE, log_loss_nats DOUBLE, "
        "log_loss_at_1_nats DOUBLE, gradient DOUBLE, curvature DOUBLE, iteration_count INTEGER)",
        arrow_functions.temperature_fits,
        "Temperature of least log loss from mean sketch and mean log-probability of tokens.",
    ),
    Udf(
        "bootstrap_ratio",
        ("DOUBLE[]", "DOUBLE[]", "INTEGER", "INTEGER"),
        SUM_RANGE,
        arrow_functions.ratio_ranges,
        "Central 95 % of a ratio of sums over resampled documents: sums, counts, replicates, seed.",
    ),
    Udf(
        "bootstrap_temperature",
        ("DOUBLE[]", "DOUBLE[][]", "DOUBLE[]", "INTEGER", "INTEGER"),
        SUM_RANGE,
        arrow_functions.temperature_ranges,
        "The same of the fitted temperature: counts, sums of sketches and of log-probabilities.",
    ),
    Udf(
        "bootstrap_calibration_errors",
        (
            "INTEGER[]",
            "INTEGER[]",
            "DOUBLE[]",
            "DOUBLE[]",
            "DOUBLE[]",
            "INTEGER[]",
            "INTEGER",
            "INTEGER",
        ),
        "STRUCT(bin_count INTEGER, ece_plugin_low DOUBLE, ece_plugin_high DOUBLE, "
        "reliability_debiased_low DOUBLE, reliability_debiased_high DOUBLE)[]",
        arrow_functions.error_ranges,
        "The same of calibration errors by bin count, from sums per document and fine bin.",
    ),
    Udf(
        "kendall_tau_b",
        ("DOUBLE[]", "DOUBLE[]"),
        "DOUBLE",
        arrow_functions.rank_correlations,
        "Kendall's tau-b of two lists of confidences; NULL where all of one are equal.",
    ),
    Udf(
        "credal_set",
        (POINTS,),
        "STRUCT(hull_rank INTEGER, hull_measure DOUBLE, hull_volume DOUBLE, vertex_count INTEGER, "
        "vertices DOUBLE[][], is_degenerate BOOLEAN, rank_tolerance DOUBLE, "
        "singular_values DOUBLE[])",
        arrow_functions.credal_sets,
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
        arrow_functions.overlaps,
        "Comparison of a story source's points (second) with the human ones (first).",
    ),
    Udf(
        "paired_comparison",
        (POINTS, POINTS),
        "STRUCT(wasserstein_distances DOUBLE[], wasserstein_mean DOUBLE, "
        "rank_correlations DOUBLE[], rank_correlation_mean DOUBLE)",
        arrow_functions.paired_comparisons,
        "The same points axis by axis: across prompts, and prompt by prompt.",
    ),
    Udf(
        "bootstrap_overlaps",
        (POINTS, POINTS, POINTS, "INTEGER", "INTEGER"),
        DRAWS,
        arrow_functions.bootstraps,
        "Every measure over resamples of the prompts: points as above, axis units, count, seed.",
    ),
    Udf(
        "split_half_overlaps",
        (POINTS, POINTS, POINTS, "INTEGER", "INTEGER"),
        DRAWS,
        arrow_functions.halves,
        "The same between people on one random half of the prompts and a set on the other.",
    ),
    Udf(
        "value_range",
        ("DOUBLE[]",),
        RANGE,
        arrow_functions.ranges,
        "Mean and central 95 % of a list; NULL elements are left out.",
    ),
    Udf(
        "paired_difference_range",
        ("DOUBLE[]", "DOUBLE[]"),
        RANGE,
        arrow_functions.difference_ranges,
        "The same of second minus first, element by element.",
    ),
    Udf(
        "variance_decomposition",
        ("DOUBLE[][][]", "BOOLEAN", "INTEGER", "INTEGER", "INTEGER"),
        "STRUCT(between_strategy_variance DOUBLE, within_strategy_variance DOUBLE, "
        "epistemic_ratio DOUBLE, epistemic_ratio_bias DOUBLE, epistemic_ratio_low DOUBLE, "
        "epistemic_ratio_high DOUBLE)",
        arrow_functions.decompositions,
        "Spread between and within strategies: points, standardized?, ddof, replicates, seed.",
    ),
    Udf(
        "principal_components",
        (POINTS,),
        "STRUCT(variances DOUBLE[], variance_shares DOUBLE[], loadings DOUBLE[][])",
        arrow_functions.components,
        "Directions of greatest variance of points, as they are scaled.",
    ),
    Udf(
        "spearman_test",
        ("DOUBLE[]", "DOUBLE[]"),
        TEST,
        arrow_functions.spearman_tests,
        "Spearman correlation; p by Student's t, and exact for up to eight pairs.",
    ),
    Udf(
        "student_t_test",
        ("DOUBLE[]", "DOUBLE[]"),
        TEST,
        arrow_functions.student_t_tests,
        "Student's t-test with pooled variance and Cohen's d; positive where the first is more.",
    ),
    Udf(
        "analysis_of_variance",
        ("DOUBLE[][]",),
        TEST,
        arrow_functions.analyses_of_variance,
        "One-way analysis of variance over groups.",
    ),
    Udf(
        "mann_whitney_test",
        ("DOUBLE[]", "DOUBLE[]"),
        TEST,
        arrow_functions.mann_whitney_tests,
        "Mann-Whitney U of the first list; p by the normal law and, without ties, exact.",
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
