"""Claims about sketches as they are stored: what rounding costs, and that it costs no row."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import log_softmax

from udfs.loss_curves import FitStatus, SketchedRows
from udfs.stored_sketches import (
    AHEAD_SKETCH_BITS,
    SKETCH_BITS,
    rounding_error,
    sketch_of_stored,
    stored_sketch,
)
from udfs.temperature import fit_temperature
from udfs.temperature_sketch import (
    NODE_INVERSE_TEMPERATURES,
    SketchError,
    entropy_at,
    log_partition_at,
    sketch_of_node_values,
    temperature_sketch,
    value_basis,
)

BOTH = pytest.mark.parametrize("bits", [SKETCH_BITS, AHEAD_SKETCH_BITS])


def through_storage(sketch: np.ndarray) -> np.ndarray:
    return sketch_of_stored(stored_sketch(sketch, SKETCH_BITS), SKETCH_BITS)


def uniform_sketches(outcome_counts: np.ndarray) -> np.ndarray:
    """Of rows of 1/V each: log Z(β) = (1 − β) log V."""
    return sketch_of_node_values(
        (1.0 - NODE_INVERSE_TEMPERATURES) * np.log(outcome_counts)[:, None]
    )


@pytest.fixture(scope="module")
def sketches() -> np.ndarray:
    """Rows from flat to nearly certain."""
    rng = np.random.default_rng(71)
    sharpness = rng.uniform(0.0, 6.0, size=(500, 1))
    return temperature_sketch(log_softmax(rng.normal(size=(500, 60)) * sharpness, axis=1))


@BOTH
def test_a_stored_coefficient_is_off_by_half_a_unit_at_most(
    sketches: np.ndarray, bits: np.ndarray
) -> None:
    stored = stored_sketch(sketches, bits)
    assert stored.dtype == np.int32
    missed = np.abs(sketch_of_stored(stored, bits) - sketches)
    assert (missed <= 0.5 ** (bits + 1)).all()
    assert np.array_equal(stored_sketch(sketch_of_stored(stored, bits), bits), stored)


@pytest.mark.parametrize("temperature", [0.5, 0.55, 0.8, 1.0, 1.4, 1.9, 2.0])
def test_storing_moves_log_z_and_entropy_by_less_than_is_said(
    sketches: np.ndarray, temperature: float
) -> None:
    missed = through_storage(sketches) - sketches
    assert np.abs(log_partition_at(temperature, missed)).max() < 9.6e-6
    assert np.abs(entropy_at(temperature, missed)).max() < 4.6e-5
    # The worst of equal tokens does not average out; unlike ones do.
    assert abs(log_partition_at(temperature, missed).mean()) < 9.6e-6 / 10


def test_the_worst_rounding_is_half_a_unit_of_every_degree_with_the_sign_of_its_weight() -> None:
    basis = value_basis(0.3)
    halves = np.sign(basis) * 0.5 ** (SKETCH_BITS + 1) * (1.0 - 1e-9)
    assert not stored_sketch(halves[None], SKETCH_BITS).any()
    assert halves @ basis == pytest.approx(rounding_error(basis), rel=1e-8)


def test_uniform_forecasts_over_any_number_of_outcomes_stay_flat() -> None:
    counts = np.unique(np.geomspace(2, 2**20, 1_000).round())
    for count, sketch in zip(counts, through_storage(uniform_sketches(counts)), strict=True):
        fit = fit_temperature(SketchedRows(sketch[None], [-math.log(count)]))
        assert fit.status is FitStatus.FLAT, count


def test_a_forecast_that_is_almost_uniform_is_not_flat() -> None:
    """Two outcomes 0.02 nats apart have a variance of log-probabilities of 1e-4."""
    rows = log_softmax(np.array([[0.02, 0.0]]), axis=1)
    sketch = through_storage(temperature_sketch(rows))
    fit = fit_temperature(SketchedRows(sketch, [rows.mean()]))
    assert fit.status is not FitStatus.FLAT
    assert fit.curvature == pytest.approx(1e-4, abs=rounding_error(value_basis(0.0)) * 10)


@BOTH
def test_no_forecast_overflows(bits: np.ndarray) -> None:
    """One outcome and n equal others at any gap, and a sum that is the least double."""
    for count in (1, 2**10, 2**20, 2**31):
        gaps = np.linspace(0.0, 60.0, 601)[:, None]
        norm = np.logaddexp(0.0, math.log(count) - gaps)
        beta = NODE_INVERSE_TEMPERATURES
        sketch = sketch_of_node_values(
            np.logaddexp(0.0, math.log(count) - beta * gaps) - beta * norm
        )
        stored_sketch(sketch, bits)
        assert np.abs(sketch[:, -1]).max() < 0.02
    stored_sketch(sketch_of_node_values(NODE_INVERSE_TEMPERATURES[None] * -745.0), bits)


@pytest.mark.parametrize("value", [2.0**14, -(2.0**14), math.nan, math.inf])
def test_what_does_not_fit_is_refused_with_its_row_and_degree(value: float) -> None:
    sketch = np.zeros((3, 16))
    sketch[1, 1] = value
    with pytest.raises(SketchError, match=r"degree 1 must be below 16384 nats .* in row 1"):
        stored_sketch(sketch, SKETCH_BITS)
