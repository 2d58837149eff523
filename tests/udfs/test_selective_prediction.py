"""Claims about the most confident tokens and about the order of confidences."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.selective_prediction import (
    SelectionError,
    kendall_tau_b,
    most_confident,
    retained_share,
    selective_accuracy,
)

pairs = st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=2, max_size=12)


@given(pairs)
def test_tau_b_equals_its_definition_over_all_pairs(values: list[tuple[int, int]]) -> None:
    score = first_ties = second_ties = 0
    for (a, b), (c, d) in itertools.combinations(values, 2):
        score += int(np.sign(a - c) * np.sign(b - d))
        first_ties += a == c
        second_ties += b == d
    all_pairs = math.comb(len(values), 2)
    size = (all_pairs - first_ties) * (all_pairs - second_ties)
    found = kendall_tau_b(*zip(*values, strict=True))
    if size == 0:
        assert found is None
    else:
        assert found == pytest.approx(score / math.sqrt(size), abs=1e-12)


def test_equal_confidences_are_taken_in_the_order_given() -> None:
    assert most_confident([0.5] * 5, 0.4).tolist() == [0, 1]
    assert most_confident([0.5, 0.9, 0.5], 0.67).tolist() == [1, 0]


def test_a_share_is_read_as_the_decimal_it_is_printed_as() -> None:
    values = np.zeros(100)
    for percent in range(1, 101):
        assert len(most_confident(values, percent / 100)) == percent


def test_a_share_of_all_has_the_plain_accuracy_and_keeps_everything() -> None:
    rng = np.random.default_rng(81)
    confidence, hits = rng.random(50), rng.random(50) < 0.5
    assert selective_accuracy(confidence, hits, 1.0) == hits.mean()
    assert retained_share(confidence, rng.random(50), 1.0) == 1.0


def test_an_order_that_is_kept_keeps_every_selection() -> None:
    confidence = np.random.default_rng(82).random(60)
    for share in (0.05, 0.2, 0.5):
        assert retained_share(confidence, confidence**3, share) == 1.0
        assert retained_share(confidence, 1.0 - confidence, share) == 0.0


def test_a_share_that_holds_no_token_has_no_accuracy() -> None:
    assert selective_accuracy([0.5, 0.5], [True, True], 0.4) is None
    assert retained_share([0.5], [0.5], 0.5) is None


def test_shares_outside_their_range_and_nan_are_refused() -> None:
    with pytest.raises(SelectionError, match=r"\(0, 1\], got 0"):
        most_confident([0.5], 0.0)
    with pytest.raises(SelectionError, match="got NaN"):
        most_confident([math.nan], 0.5)
    with pytest.raises(SelectionError, match="got NaN"):
        kendall_tau_b([0.5, math.nan], [0.5, 0.5])
    with pytest.raises(SelectionError, match="same tokens"):
        retained_share([0.5], [0.5, 0.5], 1.0)
