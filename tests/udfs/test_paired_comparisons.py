"""Claims about Wasserstein distances and rank correlations: scipy's, and closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from udfs.credal_sets import CredalSetError
from udfs.paired_comparisons import paired_comparison, rank_correlation, wasserstein_distance


@pytest.mark.parametrize("seed", range(5))
def test_both_agree_with_scipy_ties_included(seed: int) -> None:
    rng = np.random.default_rng(seed)
    first, second = rng.integers(0, 9, 60) / 8, rng.normal(size=60).round(1)
    assert wasserstein_distance(first, second) == pytest.approx(
        stats.wasserstein_distance(first, second), abs=1e-14
    )
    expected = stats.spearmanr(first, second).statistic
    assert rank_correlation(first, second) == pytest.approx(expected, abs=1e-14)


def test_a_shift_moves_the_distance_and_not_the_correlation() -> None:
    points = np.random.default_rng(1).integers(0, 64, (40, 3)) / 64
    found = paired_comparison(points, points + np.array([0.5, 0.25, 0.0]))
    assert found.wasserstein_distances == (0.5, 0.25, 0.0)
    assert found.wasserstein_mean == 0.25
    assert found.rank_correlation_mean == 1.0


def test_a_constant_axis_has_no_correlation_and_the_mean_leaves_it_out() -> None:
    found = paired_comparison([[0.0, 1.0], [1.0, 1.0]], [[3.0, 5.0], [2.0, 6.0]])
    assert found.rank_correlations == (-1.0, None)
    assert found.rank_correlation_mean == -1.0


def test_sets_without_a_common_row_for_each_prompt_are_refused() -> None:
    with pytest.raises(CredalSetError, match="one row for each shared prompt"):
        paired_comparison([[0.0], [1.0]], [[0.0]])
