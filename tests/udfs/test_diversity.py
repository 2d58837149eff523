"""Claims about pairwise diversities, against loops over pairs and closed forms."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import pdist

from udfs.diversity import (
    DiversityError,
    mean_pairwise_cosine_distance,
    mean_pairwise_jaccard_distance,
)
from udfs.registry import register_all

item_sets = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=6), min_size=2, max_size=6)


def loop_jaccard(sets: list[list[str]]) -> float | None:
    """Mean over pairs in exact fractions; None where a pair is empty twice."""
    distances = []
    for first, second in itertools.combinations([set(items) for items in sets], 2):
        if not first | second:
            return None
        distances.append(1 - Fraction(len(first & second), len(first | second)))
    return float(sum(distances) / len(distances))


def loop_cosine(rows: np.ndarray) -> float:
    return float(
        np.mean(
            [
                1 - a @ b / (math.sqrt(a @ a) * math.sqrt(b @ b))
                for a, b in itertools.combinations(rows.astype(np.float64), 2)
            ]
        )
    )


@given(item_sets)
def test_jaccard_equals_the_loop_over_pairs_in_exact_fractions(sets: list[list[str]]) -> None:
    expected = loop_jaccard(sets)
    found = mean_pairwise_jaccard_distance(sets)
    if expected is None:
        assert found is None
    else:
        assert found == pytest.approx(expected, abs=1e-15)


@given(item_sets, st.randoms())
def test_jaccard_has_the_same_bits_in_any_order_of_stories(sets, random) -> None:  # type: ignore[no-untyped-def]
    shuffled = [random.sample(items, len(items)) for items in random.sample(sets, len(sets))]
    assert mean_pairwise_jaccard_distance(shuffled) == mean_pairwise_jaccard_distance(sets)


@pytest.mark.parametrize("story_count", [2, 3, 10])
def test_cosine_closed_form_equals_the_loop_over_pairs(story_count: int) -> None:
    rows = np.random.default_rng(5).normal(size=(story_count, 384)) + 0.3
    assert mean_pairwise_cosine_distance(rows) == pytest.approx(loop_cosine(rows), abs=1e-14)


def test_cosine_has_the_same_bits_in_any_order_of_stories() -> None:
    rng = np.random.default_rng(6)
    rows = rng.normal(size=(10, 384)).astype(np.float32)
    values = {mean_pairwise_cosine_distance(rows[rng.permutation(10)]) for _ in range(50)}
    assert len(values) == 1


def test_opposite_embeddings_are_at_distance_two_and_n_simplex_vectors_at_n_over_n_minus_one() -> (
    None
):
    assert mean_pairwise_cosine_distance([[1.0, 0.0], [-1.0, 0.0]]) == 2.0
    simplex = np.eye(5) - 0.2
    assert mean_pairwise_cosine_distance(simplex) == pytest.approx(5 / 4, abs=1e-15)


def test_equal_stories_have_no_diversity_and_never_less_than_none() -> None:
    row = np.random.default_rng(7).normal(size=384)
    distance = mean_pairwise_cosine_distance([row] * 10)
    assert distance is not None
    assert 0.0 <= distance < 1e-14
    assert mean_pairwise_jaccard_distance([["a", "b"]] * 10) == 0.0


@pytest.mark.parametrize(
    "function", [mean_pairwise_cosine_distance, mean_pairwise_jaccard_distance]
)
def test_one_story_has_no_diversity_rather_than_zero(function) -> None:  # type: ignore[no-untyped-def]
    assert function([["a"]] if function is mean_pairwise_jaccard_distance else [[1.0]]) is None


@pytest.mark.parametrize("bad", [[0.0, 0.0], [math.nan, 1.0], [math.inf, 1.0]])
def test_an_embedding_without_a_direction_is_refused_with_its_place(bad: list[float]) -> None:
    with pytest.raises(DiversityError, match="in story 1 of its set"):
        mean_pairwise_cosine_distance([[1.0, 0.0], bad])


def test_sql_gives_what_python_gives_for_every_set_of_many_chunks() -> None:
    rng = np.random.default_rng(8)
    words = [
        [[f"w{k}" for k in rng.integers(0, 40, rng.integers(0, 12))] for _ in range(3)]
        for _ in range(5000)
    ]
    connection = duckdb.connect()
    register_all(connection)
    places = np.arange(len(words))
    embeddings = rng.normal(size=(len(words), 3, 4)).astype(np.float32).tolist()
    connection.register(
        "incoming",
        pa.table(
            {
                "place": places,
                "words": words,
                "embeddings": pa.array(embeddings, pa.list_(pa.list_(pa.float32()))),
            }
        ),
    )
    rows = connection.execute(
        "select mean_pairwise_jaccard_distance(words), mean_pairwise_cosine_distance(embeddings) "
        "from incoming order by place"
    ).fetchall()
    assert [row[0] for row in rows] == [mean_pairwise_jaccard_distance(sets) for sets in words]
    assert [row[1] for row in rows] == [mean_pairwise_cosine_distance(rows) for rows in embeddings]


def test_distances_equal_those_of_scipy_on_long_sets() -> None:
    rng = np.random.default_rng(12)
    members = rng.random((40, 300)) < rng.uniform(0.01, 0.9, size=(40, 1))
    members[:, 0] = True
    sets = [[f"w{k}" for k in np.flatnonzero(row)] for row in members]
    found = mean_pairwise_jaccard_distance(sets)
    assert found == pytest.approx(pdist(members, "jaccard").mean(), rel=1e-13)
    rows = rng.normal(size=(40, 50))
    expected = pdist(rows, "cosine").mean()
    assert mean_pairwise_cosine_distance(rows) == pytest.approx(expected, rel=1e-13)


@given(item_sets)
def test_jaccard_lies_between_0_and_1_and_repeated_items_change_nothing(
    sets: list[list[str]],
) -> None:
    found = mean_pairwise_jaccard_distance(sets)
    assert found is None or 0.0 <= found <= 1.0
    assert mean_pairwise_jaccard_distance([items * 2 for items in sets]) == found


def test_one_empty_set_is_far_from_all_others_and_two_have_no_distance() -> None:
    assert mean_pairwise_jaccard_distance([["a"], ["a"], []]) == pytest.approx(2 / 3, abs=1e-16)
    assert mean_pairwise_jaccard_distance([["a"], ["a"], [], []]) is None


def test_a_longer_embedding_in_one_direction_is_the_same_embedding() -> None:
    rows = np.random.default_rng(13).normal(size=(6, 20))
    scaled = rows * 2.0 ** np.arange(6)[:, None]
    assert mean_pairwise_cosine_distance(scaled) == mean_pairwise_cosine_distance(rows)


@pytest.mark.parametrize("bad", [[[1.0, 2.0], [1.0]], [1.0, 2.0], [["a"], ["b"]]])
def test_embeddings_that_are_no_table_of_numbers_are_refused(bad: list[object]) -> None:
    with pytest.raises(DiversityError, match="all of one dimension"):
        mean_pairwise_cosine_distance(bad)  # type: ignore[arg-type]


def test_sql_null_set_gives_null_and_leaves_its_neighbours_alone() -> None:
    connection = duckdb.connect()
    register_all(connection)
    rows = connection.execute(
        "select mean_pairwise_cosine_distance(e), mean_pairwise_jaccard_distance(w) from (values "
        "([[1,0],[0,1]]::float[][], [['a'],['b']]), (null, null), "
        "([[1,0],[1,0]]::float[][], [['a'],['a']])) as t(e, w)"
    ).fetchall()
    assert rows == [(1.0, 1.0), (None, None), (0.0, 0.0)]


def test_sql_null_story_inside_a_set_is_refused() -> None:
    connection = duckdb.connect()
    register_all(connection)
    with pytest.raises(duckdb.InvalidInputException, match="must not hold NULL"):
        connection.execute("select mean_pairwise_jaccard_distance([['a'], null, ['b']])").fetchall()
