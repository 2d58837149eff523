"""Claims about decompositions and principal components: closed forms, identities, numpy."""

from __future__ import annotations

import numpy as np
import pytest

from udfs.credal_sets import CredalSetError
from udfs.principal_components import principal_components
from udfs.variance_decompositions import variance_decomposition


def strategies(seed: int, count: int = 5) -> list[np.ndarray]:
    rng = np.random.default_rng(seed)
    return [rng.normal(size=(80, 3)) + rng.normal(size=3) for _ in range(count)]


def test_standardised_variances_add_up_to_the_number_of_axes() -> None:
    found = variance_decomposition(strategies(1), True, 0, 5, 1)
    total = found.between_strategy_variance + found.within_strategy_variance
    assert total == pytest.approx(3.0, abs=1e-12)


@pytest.mark.parametrize("ddof", [0, 1])
def test_both_variances_are_numpys(ddof: int) -> None:
    sets = strategies(2)
    found = variance_decomposition(sets, False, ddof, 5, 1)
    centroids = np.array([points.mean(axis=0) for points in sets])
    between = centroids.var(axis=0, ddof=ddof).sum()
    within = np.mean([points.var(axis=0, ddof=ddof).sum() for points in sets])
    assert found.between_strategy_variance == pytest.approx(between, rel=1e-12)
    assert found.within_strategy_variance == pytest.approx(within, rel=1e-12)
    assert found.epistemic_ratio == pytest.approx(between / (between + within), rel=1e-12)


def test_standardising_is_blind_to_the_scale_of_each_axis() -> None:
    sets = strategies(3)
    scaled = [points * [1.0, 32.0, 0.25] + 4.0 for points in sets]
    found = [variance_decomposition(each, True, 0, 20, 1) for each in (sets, scaled)]
    for name in ("epistemic_ratio", "epistemic_ratio_low", "epistemic_ratio_high"):
        first, second = (getattr(each, name) for each in found)
        assert first == pytest.approx(second, abs=1e-12)


def test_equal_strategies_have_ratio_zero_and_equal_points_none() -> None:
    points = strategies(4, 1)[0]
    assert variance_decomposition([points, points], False, 0, 5, 1).epistemic_ratio == 0.0
    still = np.ones((3, 2))
    assert variance_decomposition([still, still], True, 0, 5, 1).epistemic_ratio is None


def test_the_interval_covers_the_ratio_of_the_law_it_samples() -> None:
    """Two centroids at ±1 and unit variance: the ratio is 1/2; 95 % intervals cover it mostly."""
    hits = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        sets = [rng.normal(size=(200, 1)) + shift for shift in (-1.0, 1.0)]
        found = variance_decomposition(sets, False, 0, 200, seed)
        hits += found.epistemic_ratio_low <= 0.5 <= found.epistemic_ratio_high  # type: ignore[operator]
    # 57 expected; 51 or fewer happen once in a hundred times.
    assert hits >= 51


def test_one_strategy_cannot_be_decomposed() -> None:
    with pytest.raises(CredalSetError, match="two strategies"):
        variance_decomposition([[[0.0], [1.0]]], False, 0, 5, 1)


def test_components_are_those_of_the_covariance_and_rebuild_it() -> None:
    points = np.random.default_rng(5).normal(size=(50, 3)) @ np.diag([3.0, 1.0, 0.5])
    found = principal_components(points)
    loadings, variances = np.array(found.loadings), np.array(found.variances)
    assert loadings.T @ np.diag(variances) @ loadings == pytest.approx(
        np.cov(points.T, ddof=0), abs=1e-12
    )
    assert loadings @ loadings.T == pytest.approx(np.eye(3), abs=1e-12)
    assert sum(found.variance_shares) == pytest.approx(1.0)  # type: ignore[arg-type]


def test_row_order_changes_no_bit_of_the_components() -> None:
    points = np.random.default_rng(6).normal(size=(50, 3))
    assert principal_components(points) == principal_components(points[::-1])


@pytest.mark.parametrize("constant", [0.1, 0.3, 1.0])
def test_a_constant_axis_adds_nothing_to_estimate_or_interval(constant: float) -> None:
    rng = np.random.default_rng(5)
    sets = [rng.normal(place, 1, (12, 1)) for place in range(3)]
    padded = [np.column_stack([points, np.full(12, constant)]) for points in sets]
    found = variance_decomposition(padded, True, 0, 300, 1)
    alone = variance_decomposition(sets, True, 0, 300, 1)
    assert found.epistemic_ratio == pytest.approx(alone.epistemic_ratio)
    assert found.epistemic_ratio_low == pytest.approx(alone.epistemic_ratio_low)
    assert found.epistemic_ratio_high == pytest.approx(alone.epistemic_ratio_high)
    nothing = variance_decomposition([np.full((12, 1), constant)] * 2, False, 0, 20, 1)
    assert nothing.epistemic_ratio is None
    assert nothing.epistemic_ratio_low is None
