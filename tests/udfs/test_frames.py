"""Claims about the scale of an axis."""

from __future__ import annotations

import math
import statistics
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from udfs.frames import FrameError, axis_scale


def test_scale_is_the_population_sd_with_the_same_bits_in_any_order() -> None:
    rng = np.random.default_rng(9)
    values = rng.normal(0.9, 0.01, size=10_500)
    scale = axis_scale(values)
    assert scale.mean == pytest.approx(np.mean(values), rel=1e-14)
    assert scale.sd == pytest.approx(np.std(values, ddof=0), rel=1e-12)
    assert len({axis_scale(rng.permutation(values)) for _ in range(20)}) == 1


@pytest.mark.parametrize("value", [0.0, 1.0, 0.1, 1 / 3])
def test_a_constant_axis_has_sd_exactly_zero(value: float) -> None:
    assert axis_scale([value] * 500).sd == 0.0


@settings(max_examples=50)
@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=30))
def test_scale_agrees_with_exact_fractions(values: list[float]) -> None:
    scale = axis_scale(values)
    assert scale.mean == pytest.approx(statistics.fmean(values), rel=1e-15, abs=1e-300)
    expected = statistics.pstdev(map(Fraction, values))
    largest = max(map(abs, values))
    # The mean is rounded once, and what is below 1e-12 of the axis counts as no spread.
    assert scale.sd == pytest.approx(expected, rel=1e-9, abs=1.1e-12 * largest + 1e-300)


def test_a_tiny_axis_keeps_its_spread() -> None:
    assert axis_scale([0.0, 2.0**-900]).sd == 2.0**-901


def test_an_axis_without_finite_values_is_refused() -> None:
    with pytest.raises(FrameError, match=r"within 1e\+100 of 0, got 1e\+200"):
        axis_scale([1.0, -1e200])
    with pytest.raises(FrameError, match="in place 1"):
        axis_scale([1.0, math.nan])
    with pytest.raises(FrameError, match="got none"):
        axis_scale([])
