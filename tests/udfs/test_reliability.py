"""Claims about bins and calibration errors: edges, roll-ups, fixed figures, exact expectations."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.reliability import (
    ece_plugin,
    mce,
    reliability_debiased,
    reliability_plugin,
    singleton_token_share,
)
from udfs.reliability_bins import (
    FINE_BIN_COUNT,
    ReliabilityBins,
    ReliabilityError,
    bin_index,
    equal_mass_bins,
    reliability_bins,
    rolled_up,
)

DIVISORS = [count for count in range(1, FINE_BIN_COUNT + 1) if FINE_BIN_COUNT % count == 0]
forecasts = st.lists(st.tuples(st.floats(0.0, 1.0), st.booleans()), min_size=1, max_size=60)


def loop_bins(pairs: list[tuple[float, bool]], bin_count: int) -> dict[int, list]:  # type: ignore[type-arg]
    """Every token in its bin, by comparing with each k/B in double precision."""
    found: dict[int, list[tuple[float, bool]]] = {}
    for confidence, hit in pairs:
        place = sum(confidence > k / bin_count for k in range(1, bin_count))
        found.setdefault(place, []).append((confidence, hit))
    return found


@pytest.mark.parametrize("bin_count", [1, 10, 15, 29, 50, 58, 60, 960])
def test_every_edge_belongs_to_the_bin_below_it_and_its_neighbour_to_the_one_above(
    bin_count: int,
) -> None:
    for k in range(1, bin_count):
        edge = k / bin_count
        below, on, above = np.nextafter(edge, 0.0), edge, np.nextafter(edge, 1.0)
        assert bin_index([below, on, above], bin_count).tolist() == [k - 1, k - 1, k]
    assert bin_index([0.0, 1.0], bin_count).tolist() == [0, bin_count - 1]


@given(forecasts, st.sampled_from([1, 2, 7, 10, 15, 22, 47, 960]))
def test_bins_hold_what_a_loop_over_edges_puts_there(
    pairs: list[tuple[float, bool]], bin_count: int
) -> None:
    bins = reliability_bins(*zip(*pairs, strict=True), bin_count)
    expected = loop_bins(pairs, bin_count)
    for place in range(bin_count):
        own = expected.get(place, [])
        assert bins.token_count[place] == len(own)
        assert bins.hit_count[place] == sum(hit for _, hit in own)
        confidence = sum((Fraction(c) for c, _ in own), Fraction(0))
        variance = sum((Fraction(c) * (1 - Fraction(c)) for c, _ in own), Fraction(0))
        # Each token is rounded to 2⁻⁴⁸, by at most half of that.
        assert abs(bins.confidence_sum[place] - float(confidence)) <= (len(own) + 1) * 2.0**-49
        assert abs(bins.variance_sum[place] - float(variance)) <= (len(own) + 1) * 2.0**-48


@given(forecasts, st.randoms())
def test_no_bit_depends_on_the_order_of_tokens(pairs, random) -> None:  # type: ignore[no-untyped-def]
    first = reliability_bins(*zip(*pairs, strict=True), 15)
    second = reliability_bins(*zip(*random.sample(pairs, len(pairs)), strict=True), 15)
    assert np.array_equal(first.confidence_sum, second.confidence_sum)
    assert np.array_equal(first.variance_sum, second.variance_sum)
    assert ece_plugin(first) == ece_plugin(second)


def test_every_divisor_of_960_rolls_up_to_the_bins_made_anew() -> None:
    rng = np.random.default_rng(31)
    # Edges of every divisor, both neighbours of them, and values between.
    edges = np.arange(FINE_BIN_COUNT + 1) / FINE_BIN_COUNT
    values = np.concatenate(
        [edges, np.nextafter(edges, 0.0), np.nextafter(edges, 1.0), rng.random(5000)]
    ).clip(0.0, 1.0)
    hits = rng.random(len(values)) < values
    fine = reliability_bins(values, hits)
    for bin_count in DIVISORS:
        rolled, direct = rolled_up(fine, bin_count), reliability_bins(values, hits, bin_count)
        assert np.array_equal(rolled.token_count, direct.token_count)
        assert np.array_equal(rolled.hit_count, direct.hit_count)
        # Both are exact sums of the same rounded numbers, rounded once.
        assert rolled.confidence_sum == pytest.approx(direct.confidence_sum, rel=1e-15, abs=1e-15)


def test_a_bin_count_that_does_not_divide_is_refused() -> None:
    with pytest.raises(ReliabilityError, match="must divide 960, got 7"):
        rolled_up(reliability_bins([0.5], [True]), 7)
    with pytest.raises(ReliabilityError, match="at least 1, got 0"):
        reliability_bins([0.5], [True], 0)


@pytest.mark.parametrize(
    ("confidence", "is_hit", "bin_count", "expected"),
    [
        ([0.95, 1.0], [1, 0], 10, 0.475),
        ([1.0, 1.0, 1.0], [0, 0, 0], 10, 1.0),
        ([0.0], [1], 10, 1.0),
        # Guo's published code drops confidence 0 and gives 0.015 here.
        ([0.0, 0.97], [1, 1], 15, (1.0 + 0.03) / 2),
    ],
)
def test_ece_at_the_ends_of_the_unit_interval(
    confidence: list[float], is_hit: list[int], bin_count: int, expected: float
) -> None:
    bins = reliability_bins(confidence, is_hit, bin_count)
    assert ece_plugin(bins) == pytest.approx(expected, abs=1e-14)


def test_equal_tokens_at_1_share_the_last_bin() -> None:
    bins = reliability_bins([1.0] * 3, [False] * 3, 10)
    assert bins.token_count.tolist() == [0] * 9 + [3]
    assert mce(bins) == 1.0


def test_a_confidence_that_is_no_number_is_rejected_and_counted() -> None:
    bins = reliability_bins([0.5, math.nan, 1.5, -0.1, 0.5], [1, 1, 1, 1, 0], 10)
    assert (int(bins.token_count.sum()), bins.rejected_count) == (2, 3)
    assert ece_plugin(bins) == 0.0
    with pytest.raises(ReliabilityError, match=r"got none \(1 rejected\)"):
        ece_plugin(reliability_bins([math.nan], [1], 10))
    with pytest.raises(ReliabilityError, match="got nan in place 1"):
        bin_index([0.5, math.nan], 10)


def test_ten_equal_confidences_have_one_occupied_equal_mass_bin() -> None:
    bins = equal_mass_bins([0.7] * 10, [1] * 3 + [0] * 7, 4)
    assert ece_plugin(bins) == pytest.approx(0.4, abs=1e-14)
    assert (bins.token_count > 0).sum() == 1
    assert bins.bin_count == 4


@given(forecasts, st.integers(1, 12))
def test_equal_mass_bins_never_part_equal_confidences_and_hold_their_share(
    pairs: list[tuple[float, bool]], bin_count: int
) -> None:
    confidence = np.array([c for c, _ in pairs])
    bins = equal_mass_bins(confidence, [hit for _, hit in pairs], bin_count)
    assert bins.token_count.sum() == len(pairs)
    # Filled from below: after k bins at least k/B of the tokens are placed, and no more than the
    # ties at the edge force.
    largest_tie = np.unique(confidence, return_counts=True)[1].max()
    placed = np.cumsum(bins.token_count)
    for k in range(1, bin_count + 1):
        least = -(-k * len(pairs) // bin_count)
        assert least <= placed[k - 1] < least + largest_tie


def test_equal_mass_bins_of_different_confidences_differ_by_at_most_one_token() -> None:
    counts = equal_mass_bins(np.arange(103) / 103, np.zeros(103), 15).token_count
    assert counts.min() == 6
    assert counts.max() == 7


@given(forecasts)
def test_errors_equal_their_definitions_over_the_loop(pairs: list[tuple[float, bool]]) -> None:
    bins = reliability_bins(*zip(*pairs, strict=True), 15)
    ece = plugin = debiased = worst = 0.0
    for own in loop_bins(pairs, 15).values():
        n = len(own)
        accuracy = sum(hit for _, hit in own) / n
        gap = accuracy - sum(c for c, _ in own) / n
        ece += n / len(pairs) * abs(gap)
        plugin += n / len(pairs) * gap**2
        if n > 1:
            debiased += n / len(pairs) * (gap**2 - accuracy * (1 - accuracy) / (n - 1))
        worst = max(worst, abs(gap))
    assert ece_plugin(bins) == pytest.approx(ece, abs=1e-12)
    assert reliability_plugin(bins) == pytest.approx(plugin, abs=1e-12)
    assert reliability_debiased(bins) == pytest.approx(debiased, abs=1e-12)
    assert mce(bins) == pytest.approx(worst, abs=1e-12)


def test_a_lone_token_adds_nothing_to_the_debiased_reliability_and_is_reported() -> None:
    bins = reliability_bins([0.1, 0.7, 0.7, 0.7], [1, 1, 1, 0], 10)
    gap = 2 / 3 - 0.7
    expected = 3 / 4 * (gap**2 - (2 / 3) * (1 / 3) / 2)
    assert reliability_debiased(bins) == pytest.approx(expected, abs=1e-14)
    assert expected < 0
    assert singleton_token_share(bins) == 0.25


def one_bin(hits: int, confidence: np.ndarray) -> ReliabilityBins:
    variance = float((confidence * (1 - confidence)).sum())
    return ReliabilityBins(
        np.array([len(confidence)]),
        np.array([hits]),
        np.array([confidence.sum()]),
        np.array([variance]),
    )


def test_debiased_reliability_misses_only_the_heterogeneity_on_200_random_bins() -> None:
    """CLM theorem 2(c): E = (mean ρ − mean c)² − D/(n − 1), by enumeration of all 2ⁿ outcomes."""
    rng = np.random.default_rng(32)
    for _ in range(200):
        n = int(rng.integers(2, 10))
        rho, confidence = rng.random(n), rng.random(n)
        if rng.random() < 0.3:
            rho[:] = rho[0]
        probability_of = np.zeros(n + 1)
        for outcome in itertools.product([0, 1], repeat=n):
            chance = np.where(np.array(outcome) == 1, rho, 1 - rho).prod()
            probability_of[sum(outcome)] += chance
        debiased = sum(
            chance * reliability_debiased(one_bin(hits, confidence))
            for hits, chance in enumerate(probability_of)
        )
        plugin = sum(
            chance * reliability_plugin(one_bin(hits, confidence))
            for hits, chance in enumerate(probability_of)
        )
        squared_gap = (rho.mean() - confidence.mean()) ** 2
        assert debiased == pytest.approx(squared_gap - rho.var() / (n - 1), abs=1e-13)
        assert plugin == pytest.approx(squared_gap + (rho * (1 - rho)).sum() / n**2, abs=1e-13)
