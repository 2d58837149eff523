"""The hypothesis tests GCV reports, each with its convention and what it assumes.

All treat their values as independent units. Configurations of one language model are not: read the
p-values of tests over configurations as descriptions.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from udfs.errors import CalibraryError
from udfs.paired_comparisons import rank_correlation

LARGEST_EXACT_COUNT = 8
"""Up to this many pairs all orders are tried (40,320 of them); above, Student's t stands in."""


class HypothesisTestError(CalibraryError):
    """Values that no test can be made of."""


@dataclass(frozen=True)
class HypothesisTest:
    """One test.

    Attributes
    ----------
    statistic : float or None
        None where the test is not defined: too few values, or none that vary.
    p_value : float or None
        Two-sided, in [0, 1], by the usual approximation or distribution of the statistic.
    exact_p_value : float or None
        By counting all orders; None where they are too many, or not counted for this test.
    effect_size : float or None
        Cohen's d of a t-test (pooled sd with ddof 1), eta squared of an analysis of variance.
    effect_size_ddof_0 : float or None
        Cohen's d with the mean of the two population variances, GCV's convention.
    value_count : int
    degrees_of_freedom, degrees_of_freedom_within : float or None
        The second for an analysis of variance only.
    """

    statistic: float | None
    p_value: float | None
    exact_p_value: float | None
    effect_size: float | None
    effect_size_ddof_0: float | None
    value_count: int
    degrees_of_freedom: float | None
    degrees_of_freedom_within: float | None


def spearman_test(first: ArrayLike, second: ArrayLike) -> HypothesisTest:
    """Spearman correlation with Student's t (n − 2 degrees of freedom) and, for small n, exact p.

    Parameters
    ----------
    first, second : array_like of float, shape (n,)

    Examples
    --------
    >>> found = spearman_test([1.0, 2.0, 3.0, 4.0], [1.0, 3.0, 2.0, 4.0])
    >>> found.statistic, round(found.p_value, 12), round(found.exact_p_value, 4)
    (0.8, 0.2, 0.3333)
    """
    x, y = _finite(first, "first"), _finite(second, "second")
    rho = rank_correlation(x, y) if len(x) > 2 else None
    if rho is None:
        return _undefined(len(x))
    freedom = len(x) - 2
    size = math.inf if abs(rho) == 1.0 else abs(rho) * math.sqrt(freedom / (1.0 - rho * rho))
    return HypothesisTest(
        statistic=rho,
        p_value=float(2.0 * stats.t.sf(size, freedom)),
        exact_p_value=_exact_spearman_p(x, y) if len(x) <= LARGEST_EXACT_COUNT else None,
        effect_size=None,
        effect_size_ddof_0=None,
        value_count=len(x),
        degrees_of_freedom=float(freedom),
        degrees_of_freedom_within=None,
    )


def student_t_test(first: ArrayLike, second: ArrayLike) -> HypothesisTest:
    """Student's t-test of two independent samples, variance pooled; positive if first is more.

    Parameters
    ----------
    first, second : array_like of float, shape (n,) and (m,)
    """
    a, b = _finite(first, "first"), _finite(second, "second")
    if min(len(a), len(b)) < 2 or (_is_constant(a) and _is_constant(b)):
        return _undefined(len(a) + len(b))
    found = stats.ttest_ind(a, b)
    gap = float(a.mean() - b.mean())
    freedom = len(a) + len(b) - 2
    pooled = math.sqrt((len(a) * a.var() + len(b) * b.var()) / freedom)
    return HypothesisTest(
        statistic=float(found.statistic),
        p_value=float(found.pvalue),
        exact_p_value=None,
        effect_size=gap / pooled,
        effect_size_ddof_0=gap / math.sqrt((a.var() + b.var()) / 2.0),
        value_count=len(a) + len(b),
        degrees_of_freedom=float(freedom),
        degrees_of_freedom_within=None,
    )


def _finite(values: ArrayLike, name: str) -> NDArray[np.float64]:
    numbers = np.asarray(values, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise HypothesisTestError(
            f"a test must have finite values, got {numbers[bad[0]]} in place {bad[0]} of {name}; "
            "leave it out."
        )
    return numbers


def _is_constant(values: NDArray[np.float64]) -> bool:
    """Whether nothing varies; the variance of equal values may be some 1e-34 by rounding."""
    return not len(values) or float(np.ptp(values)) == 0.0


def analysis_of_variance(groups: Sequence[ArrayLike]) -> HypothesisTest:
    """One-way analysis of variance over *groups*, arrays of shape (n,) each; n may differ."""
    values = [_finite(group, f"group {place}") for place, group in enumerate(groups)]
    count = sum(map(len, values))
    if (
        len(values) < 2
        or min(map(len, values)) == 0
        or count <= len(values)
        or all(map(_is_constant, values))
    ):
        return _undefined(count)
    found = stats.f_oneway(*values)
    between, within = len(values) - 1, count - len(values)
    ratio = float(found.statistic)
    return HypothesisTest(
        statistic=ratio,
        p_value=float(found.pvalue),
        exact_p_value=None,
        effect_size=ratio * between / (ratio * between + within),
        effect_size_ddof_0=None,
        value_count=count,
        degrees_of_freedom=float(between),
        degrees_of_freedom_within=float(within),
    )


def mann_whitney_test(first: ArrayLike, second: ArrayLike) -> HypothesisTest:
    """Mann–Whitney U of *first*: pairs in which it is the larger, ties counting half.

    Parameters
    ----------
    first, second : array_like of float, shape (n,) and (m,)

    Examples
    --------
    >>> found = mann_whitney_test([1.0, 2.0, 3.0], [4.0, 5.0, 6.0])
    >>> found.statistic, found.exact_p_value
    (0.0, 0.1)
    """
    a, b = _finite(first, "first"), _finite(second, "second")
    if min(len(a), len(b)) == 0:
        return _undefined(len(a) + len(b))
    both = np.concatenate([a, b])
    if (both == both[0]).all():
        return _undefined(len(both))
    found = stats.mannwhitneyu(a, b, method="asymptotic")
    has_ties = len(np.unique(both)) < len(both)
    exact = None if has_ties else float(stats.mannwhitneyu(a, b, method="exact").pvalue)
    return HypothesisTest(
        statistic=float(found.statistic),
        p_value=float(found.pvalue),
        exact_p_value=exact,
        effect_size=None,
        effect_size_ddof_0=None,
        value_count=len(both),
        degrees_of_freedom=None,
        degrees_of_freedom_within=None,
    )


def _exact_spearman_p(x: np.ndarray, y: np.ndarray) -> float:
    """Share of all orders of *y* with a correlation at least as far from 0.

    Twice a rank is a whole number, so the sums of products compare exactly.
    """
    first = np.rint(2.0 * stats.rankdata(x) - len(x) - 1).astype(np.int64)
    second = np.rint(2.0 * stats.rankdata(y) - len(y) - 1).astype(np.int64)
    orders = np.array(list(permutations(second)))
    products = np.abs((orders * first).sum(axis=1))
    return float((products >= abs(int((first * second).sum()))).mean())


def _undefined(value_count: int) -> HypothesisTest:
    return HypothesisTest(None, None, None, None, None, value_count, None, None)
