"""Claims about the UDFs as SQL sees them: same values as in Python, NULL, types, sentences."""

from __future__ import annotations

import importlib
import itertools
import random
from collections.abc import Iterator
from dataclasses import asdict

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from udfs.credal_overlaps import credal_overlap
from udfs.credal_sets import credal_set
from udfs.diversity import mean_pairwise_cosine_distance, mean_pairwise_jaccard_distance
from udfs.frames import axis_scale
from udfs.registry import UDFS, Udf, register_all

MODULES = (
    "udfs.credal_overlaps",
    "udfs.credal_sets",
    "udfs.diversity",
    "udfs.document_bootstrap",
    "udfs.frames",
    "udfs.hypothesis_tests",
    "udfs.paired_comparisons",
    "udfs.principal_components",
    "udfs.resampled_overlaps",
    "udfs.resampling",
    "udfs.selective_prediction",
    "udfs.sketched_temperatures",
    "udfs.twins",
    "udfs.variance_decompositions",
)
SKETCH = "1, -1, 0.1" + 13 * ", 0"
SQUARES = "[[0, 0], [0, 2], [2, 0]]::double[][], [[0, 0], [0, 2], [2, 0]]::double[][]"
RESAMPLED = f"{SQUARES}, [[1, 1]]::double[][], 4, 1"
NUMBERS = "[1, 2, 4]::double[], [2, 1, 3]::double[]"
NULL_IN_NUMBERS = ("[1, null, 4]::double[], [2, 1, 3]::double[]",)
NULL_IN_PAIRS = (
    "[[0, 0], null]::double[][], [[0, 0]]::double[][]",
    "[[0, 0]]::double[][], [[0, null]]::double[][]",
)

ARGUMENTS = {
    "mean_pairwise_cosine_distance": "[[1, 0], [0, 1]]::float[][]",
    "mean_pairwise_jaccard_distance": "[['a'], ['b']]",
    "axis_scale": "[1, 3]::double[]",
    "poisson_binomial_deviation": "[0.5, 0.25]::double[]",
    "fit_mean_sketch": f"list_value({SKETCH})::double[], -1.5",
    "bootstrap_ratio": f"{NUMBERS}, 4, 1",
    "bootstrap_temperature": "[1, 2]::double[], "
    f"[list_value({SKETCH}), list_value({SKETCH})]::double[][], [-1.5, -3]::double[], 4, 1",
    "bootstrap_calibration_errors": "[0, 1], [3, 4], [1, 2]::double[], [0, 1]::double[], "
    "[0.5, 1]::double[], [1, 15], 4, 1",
    "kendall_tau_b": NUMBERS,
    "credal_set": "[[0, 0], [0, 2], [2, 0]]::double[][]",
    "credal_overlap": SQUARES,
    "paired_comparison": SQUARES,
    "bootstrap_overlaps": RESAMPLED,
    "split_half_overlaps": RESAMPLED,
    "value_range": "[1, 3]::double[]",
    "paired_difference_range": "[1, 3]::double[], [2, 5]::double[]",
    "variance_decomposition": "[[[0], [2]], [[4], [6]]]::double[][][], false, 0, 4, 1",
    "principal_components": "[[0, 0], [2, 0], [0, 1]]::double[][]",
    "spearman_test": NUMBERS,
    "student_t_test": NUMBERS,
    "mann_whitney_test": NUMBERS,
    "analysis_of_variance": "[[1, 2], [3, 5]]::double[][]",
}
NULL_INSIDE = {
    "mean_pairwise_cosine_distance": ("[[1, 0], null]::float[][]", "[[1, null]]::float[][]"),
    "mean_pairwise_jaccard_distance": ("[['a'], null]", "[['a', null], ['b']]"),
    "axis_scale": ("[1, null]::double[]",),
    "poisson_binomial_deviation": ("[0.5, null]::double[]",),
    "fit_mean_sketch": ("list_value(null, -1, 0.1" + 13 * ", 0" + ")::double[], -1.5",),
    "bootstrap_ratio": ("[1, null]::double[], [2, 2]::double[], 4, 1",),
    "credal_set": ("[[0, 0], null]::double[][]", "[[0, null]]::double[][]"),
    "credal_overlap": NULL_IN_PAIRS,
    "paired_comparison": NULL_IN_PAIRS,
    "bootstrap_overlaps": tuple(f"{pair}, [[1, 1]]::double[][], 4, 1" for pair in NULL_IN_PAIRS),
    "variance_decomposition": ("[[[0], null], [[4], [6]]]::double[][][], false, 0, 4, 1",),
    "principal_components": ("[[0, 0], null]::double[][]",),
    "spearman_test": NULL_IN_NUMBERS,
    "analysis_of_variance": ("[[1, 2], null]::double[][]",),
}


@pytest.fixture
def connection() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        register_all(connection)
        yield connection


def same_name(name: str) -> bool:
    return any(hasattr(importlib.import_module(module), name) for module in MODULES)


@pytest.mark.parametrize("udf", UDFS, ids=lambda udf: udf.name)
def test_a_udf_has_one_name_in_sql_and_in_python_and_returns_its_declared_type(
    connection: duckdb.DuckDBPyConnection, udf: Udf
) -> None:
    assert same_name(udf.name)
    row = connection.execute(f"select typeof({udf.name}({ARGUMENTS[udf.name]}))").fetchone()
    assert row == (udf.returns,)


@pytest.mark.parametrize("udf", UDFS, ids=lambda udf: udf.name)
def test_null_in_gives_null_out_and_neighbours_keep_their_values(
    connection: duckdb.DuckDBPyConnection, udf: Udf
) -> None:
    call = f"{udf.name}({ARGUMENTS[udf.name]})"
    nulls = ", ".join(f"null::{kind}" for kind in udf.parameters)
    (value,) = connection.execute(f"select {call}").fetchone() or ()
    assert value is not None
    assert connection.execute(f"select {udf.name}({nulls})").fetchone() == (None,)
    names = ", ".join(f"argument_{place}" for place in range(len(udf.parameters)))
    values = f"({ARGUMENTS[udf.name]})"
    for rows, expected in (
        ([values, f"({nulls})", values], [value, None, value]),
        ([f"({nulls})"] * 3, [None] * 3),
    ):
        table = f"(values {', '.join(rows)}) as arguments({names})"
        query = f"select {udf.name}({names}) from {table}"  # noqa: S608 - written above
        found = connection.execute(query).fetchall()
        assert [row[0] for row in found] == expected
    connection.execute(f"create table arguments as from (values {values}) as t({names}) limit 0")
    assert connection.execute(f"select {udf.name}({names}) from arguments").fetchall() == []  # noqa: S608 - names written above


def test_one_null_set_of_two_gives_no_comparison(connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.execute(
        "with points as (select [[0, 0], [0, 2], [2, 0]]::double[][] as known, "
        "null::double[][] as missing) "
        "select credal_overlap(h, s) is null from (select known, known from points "
        "union all select known, missing from points "
        "union all select missing, known from points) as pairs(h, s)"
    ).fetchall()
    assert rows == [(False,), (True,), (True,)]


@pytest.mark.parametrize(
    ("name", "argument"), [(name, each) for name, many in NULL_INSIDE.items() for each in many]
)
def test_null_inside_an_argument_is_refused_with_a_remedy(
    connection: duckdb.DuckDBPyConnection, name: str, argument: str
) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=r"must not hold NULL.*leave"):
        connection.execute(f"select {name}({argument})").fetchall()


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("mean_pairwise_cosine_distance([[1, 0], [1]]::float[][])", r"one dimension, got \[1, 2\]"),
        ("mean_pairwise_cosine_distance([[1, 0], [0, 0]]::float[][])", "got length 0.0 in story 1"),
        ("axis_scale([]::double[])", "at least one value"),
        ("axis_scale([1, 'nan'::double])", "got nan in place 1"),
        ("credal_set([]::double[][])", "at least one row"),
        ("credal_set([[1, 2], [3]]::double[][])", "rows of different lengths"),
        ("credal_overlap([[1, 2]]::double[][], [[1]]::double[][])", "must have the same axes"),
    ],
)
def test_what_cannot_be_measured_is_one_sentence(
    connection: duckdb.DuckDBPyConnection, call: str, sentence: str
) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=sentence):
        connection.execute(f"select {call}").fetchall()


def test_sets_of_two_embedding_models_may_lie_side_by_side(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    rows = connection.execute(
        "select mean_pairwise_cosine_distance(e) from (values ([[1, 0], [0, 1]]::float[][]), "
        "([[1, 0, 0], [0, 1, 0], [0, 0, 1]]), ([[]]), ([])) as t(e)"
    ).fetchall()
    assert rows == [(1.0,), (1.0,), (None,), (None,)]


def test_embeddings_of_fixed_size_are_accepted(connection: duckdb.DuckDBPyConnection) -> None:
    rows = connection.execute(
        "select mean_pairwise_cosine_distance(list(e)) from "
        "(values (1, [1, 0]::float[2]), (1, [0, 1]::float[2]), (2, [1, 0]::float[2])) as t(k, e) "
        "group by k order by k"
    ).fetchall()
    assert rows == [(1.0,), (None,)]


def stories(rng: np.random.Generator, set_count: int) -> pa.Table:
    """Stories of *set_count* sets of 2 to 5, with words and embeddings, and the points of one."""
    sizes = rng.integers(2, 6, size=set_count)
    keys = np.repeat(np.arange(set_count), sizes)
    words = [[f"w{k}" for k in set(rng.integers(0, 30, 8).tolist())] for _ in keys]
    return pa.table(
        {
            "set_id": keys,
            "words": words,
            "embedding": pa.array(
                list(rng.normal(size=(len(keys), 5)).astype(np.float32)), pa.list_(pa.float32())
            ),
            "point": pa.array(
                list(rng.normal(size=(len(keys), 3)).round(1)), pa.list_(pa.float64())
            ),
        }
    )


ALL_AT_ONCE = """
    select
        set_id,
        mean_pairwise_jaccard_distance(list(words)) as lexical_diversity,
        mean_pairwise_cosine_distance(list(embedding)) as semantic_diversity,
        axis_scale(list(point[1])) as scale,
        credal_set(list(point)) as hull,
        credal_overlap(list(point), list([point[2], point[3], point[1]])) as comparison
    from incoming group by set_id order by set_id
"""


def test_sql_gives_what_python_gives_for_every_set(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    table = stories(np.random.default_rng(21), 300)
    connection.register("incoming", table)
    found = connection.execute(ALL_AT_ONCE).fetchall()
    groups = itertools.groupby(table.to_pylist(), key=lambda row: row["set_id"])
    for (_, rows), (_, lexical, semantic, scale, hull, comparison) in zip(
        groups, found, strict=True
    ):
        own = list(rows)
        points = [row["point"] for row in own]
        assert lexical == mean_pairwise_jaccard_distance([row["words"] for row in own])
        assert semantic == mean_pairwise_cosine_distance([row["embedding"] for row in own])
        assert scale == asdict(axis_scale([point[0] for point in points]))
        expected = asdict(credal_set(points))
        assert hull == {
            **expected,
            "vertices": [list(vertex) for vertex in expected["vertices"]],
            "singular_values": list(expected["singular_values"]),
        }
        turned = [[second, third, first] for first, second, third in points]
        assert comparison == asdict(credal_overlap(points, turned))


def test_neither_row_order_nor_thread_count_changes_a_bit(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    table = stories(np.random.default_rng(22), 300)
    answers = set()
    for threads in (1, 4):
        connection.execute(f"set threads = {threads}")
        for seed in range(2):
            order = list(range(len(table)))
            random.Random(seed).shuffle(order)  # noqa: S311 - an order, not a secret
            connection.register("incoming", table.take(order))
            answers.add(repr(connection.execute(ALL_AT_ONCE).fetchall()))
    assert len(answers) == 1


def test_the_dbt_plugin_registers_every_udf() -> None:
    from udfs.dbt_plugin import Plugin

    with duckdb.connect() as connection:
        Plugin.__new__(Plugin).configure_connection(connection)
        for udf in UDFS:
            connection.execute(f"select {udf.name}({ARGUMENTS[udf.name]})")
