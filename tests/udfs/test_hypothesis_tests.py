"""Claims about hypothesis tests: GCV's printed Table 4, scipy, and counting by hand."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from udfs.hypothesis_tests import (
    HypothesisTestError,
    analysis_of_variance,
    mann_whitney_test,
    spearman_test,
    student_t_test,
)


@pytest.fixture(scope="module")
def table_4() -> list[dict[str, str]]:
    path = Path(__file__).resolve().parents[2] / "dbt_project" / "seeds" / "gcv_table_4.csv"
    with path.open() as file:
        return list(csv.DictReader(file))


def test_table_4_gives_t_d_and_f_of_the_recomputation(table_4: list[dict[str, str]]) -> None:
    groups: dict[str, list[float]] = {}
    types: dict[str, list[float]] = {}
    for row in table_4:
        tuning = "instruct" if "Instruct" in row["language_model_name"] else "base"
        groups.setdefault(tuning, []).append(float(row["calibration"]))
        kind = row["decoding_strategy_name"].rsplit("_", 1)[0]
        types.setdefault(kind, []).append(float(row["calibration"]))
    t = student_t_test(groups["base"], groups["instruct"])
    assert t.statistic == pytest.approx(-0.406, abs=5e-4)
    assert t.effect_size == pytest.approx(-0.181, abs=6e-4)
    assert (t.value_count, t.degrees_of_freedom) == (20, 18.0)
    f = analysis_of_variance(list(types.values()))
    assert f.statistic == pytest.approx(0.364, abs=5e-4)
    assert (f.degrees_of_freedom, f.degrees_of_freedom_within) == (3.0, 16.0)


def test_spearman_of_four_pairs_has_an_exact_p_that_t_understates() -> None:
    found = spearman_test([1.5, 2.0, 7.0, 8.0], [0.333, 0.434, 0.403, 0.409])
    assert found.statistic == pytest.approx(0.4)
    assert found.p_value == pytest.approx(0.6)
    # 18 of the 24 orders are at least as far from 0.
    assert found.exact_p_value == pytest.approx(0.75)


def test_a_perfect_order_has_p_zero_by_t_and_two_orders_in_all_by_counting() -> None:
    found = spearman_test([1.0, 2.0, 3.0, 4.0, 5.0], [2.0, 3.0, 5.0, 8.0, 9.0])
    assert (found.statistic, found.p_value) == (1.0, 0.0)
    assert found.exact_p_value == pytest.approx(2 / 120)


def test_all_four_agree_with_scipy() -> None:
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=12), rng.normal(size=9) + 0.5
    assert student_t_test(a, b).p_value == pytest.approx(stats.ttest_ind(a, b).pvalue)
    exact = stats.mannwhitneyu(a, b, method="exact")
    found = mann_whitney_test(a, b)
    assert (found.statistic, found.exact_p_value) == (exact.statistic, pytest.approx(exact.pvalue))
    assert analysis_of_variance([a, b]).p_value == pytest.approx(stats.f_oneway(a, b).pvalue)
    assert spearman_test(a[:9], b).p_value == pytest.approx(stats.spearmanr(a[:9], b).pvalue)


def test_f_of_two_groups_is_the_square_of_t() -> None:
    rng = np.random.default_rng(2)
    a, b = rng.normal(size=8), rng.normal(size=11)
    t, f = student_t_test(a, b), analysis_of_variance([a, b])
    assert f.statistic == pytest.approx(t.statistic**2)  # type: ignore[operator]


def test_what_cannot_be_tested_has_a_count_and_no_statistic() -> None:
    assert spearman_test([1.0, 2.0], [1.0, 2.0]).statistic is None
    assert spearman_test([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]).statistic is None
    assert student_t_test([1.0], [2.0, 3.0]).value_count == 3
    assert analysis_of_variance([[1.0, 2.0]]).statistic is None
    assert mann_whitney_test([], [1.0]).statistic is None
    assert mann_whitney_test([1.0], [1.0]).statistic is None


def test_equal_values_within_every_group_leave_nothing_to_test_by() -> None:
    """0.1 is no binary fraction: the variance of three of them is not exactly 0."""
    assert student_t_test([0.1] * 3, [0.3] * 3).statistic is None
    assert student_t_test([0.1] * 3, [0.1] * 4).statistic is None
    assert analysis_of_variance([[0.1] * 3, [0.3] * 3]).statistic is None


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_what_is_no_number_is_refused_with_its_place(value: float) -> None:
    values, others = [0.1, value, 0.2], [0.3, 0.2, 0.1]
    for test in (spearman_test, student_t_test, mann_whitney_test):
        with pytest.raises(HypothesisTestError, match="in place 1 of second"):
            test(others, values)
    with pytest.raises(HypothesisTestError, match="in place 1 of group 0"):
        analysis_of_variance([values, others])
    assert analysis_of_variance([others, [], others]).statistic is None
