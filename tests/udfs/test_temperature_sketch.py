"""Claims about the temperature sketch, against exact rows at the same temperature."""

from __future__ import annotations

import math

import numpy as np
import pytest
from numpy.polynomial import chebyshev
from scipy.special import log_softmax, logsumexp

from udfs.prediction_sets import mass_ahead
from udfs.temperature import tempered
from udfs.temperature_sketch import (
    CURVATURE_MATRIX,
    NODE_INVERSE_TEMPERATURES,
    SKETCH_LENGTH,
    WORST_TWO_LEVEL_ERROR,
    SketchError,
    confidence_at,
    entropy_at,
    log_loss_at,
    log_partition,
    log_partition_at,
    mass_ahead_at,
    mass_ahead_sketch,
    sketch_of_node_values,
    slope_basis,
    sum_of_squares_at,
    temperature_sketch,
    value_basis,
)

TEMPERATURES = (0.5, 0.61, 0.8, 1.0, 1.3, 1.77, 2.0)


@pytest.fixture(scope="module")
def rows() -> np.ndarray:
    """Fifty rows over 200 outcomes, from nearly flat to nearly certain."""
    rng = np.random.default_rng(91)
    return log_softmax(rng.normal(size=(50, 200)) * np.linspace(0.1, 4.0, 50)[:, None], axis=1)


@pytest.fixture(scope="module")
def outcome() -> np.ndarray:
    return np.random.default_rng(92).integers(0, 200, size=50)


def test_bases_are_those_of_numpy() -> None:
    for place in np.linspace(-1.0, 1.0, 9):
        expected = chebyshev.chebvander(place, SKETCH_LENGTH - 1)[0]
        assert value_basis(place) == pytest.approx(expected, abs=1e-13)
        for order, found in (
            (1, slope_basis(place)),
            (2, CURVATURE_MATRIX @ value_basis(place)),
        ):
            derived = [
                chebyshev.chebval(place, chebyshev.chebder(np.eye(SKETCH_LENGTH)[k], order))
                for k in range(SKETCH_LENGTH)
            ]
            assert found == pytest.approx(derived, rel=1e-9, abs=1e-9)


def test_coefficients_are_those_of_numpys_interpolant() -> None:
    def smooth(place: np.ndarray) -> np.ndarray:
        return np.log1p(np.exp(-(2.0**place)))

    expected = chebyshev.chebinterpolate(smooth, SKETCH_LENGTH - 1)
    values = smooth(np.log2(NODE_INVERSE_TEMPERATURES))
    assert sketch_of_node_values(values[None])[0] == pytest.approx(expected, abs=1e-7)


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_every_quantity_is_that_of_the_tempered_row(
    rows: np.ndarray, outcome: np.ndarray, temperature: float
) -> None:
    sketch = temperature_sketch(rows)
    logs = tempered(rows, temperature)
    forecast = np.exp(logs)
    own = np.arange(len(rows)), outcome
    partition = logsumexp(rows / temperature, axis=1)
    assert log_partition(rows, 1.0 / temperature) == pytest.approx(partition, abs=1e-12)
    assert log_partition_at(temperature, sketch) == pytest.approx(partition, abs=2e-5)
    confidence = np.exp(rows.max(axis=1))
    assert confidence_at(temperature, sketch, confidence) == pytest.approx(
        forecast.max(axis=1), abs=1e-5
    )
    assert log_loss_at(temperature, sketch, rows[own]) == pytest.approx(-logs[own], abs=2e-5)
    # A derivative of a degree-15 interpolant loses two digits at the ends.
    entropy = -(forecast * logs).sum(axis=1)
    assert entropy_at(temperature, sketch) == pytest.approx(entropy, abs=2e-3)
    ahead = mass_ahead_at(temperature, sketch, mass_ahead_sketch(rows, outcome))
    assert ahead == pytest.approx(mass_ahead(forecast)[own], abs=2e-5)
    if temperature >= 1.0:
        squares = (forecast**2).sum(axis=1)
        assert sum_of_squares_at(temperature, sketch) == pytest.approx(squares, abs=2e-5)


def test_nothing_ahead_is_a_mass_of_exactly_0_and_ties_go_to_the_lower_number() -> None:
    rows = np.log([[0.4, 0.4, 0.2]] * 3)
    ahead = mass_ahead_sketch(rows, [0, 1, 2])
    assert np.isnan(ahead[0]).all()
    found = mass_ahead_at(1.0, temperature_sketch(rows), ahead)
    assert found == pytest.approx([0.0, 0.4, 0.8], abs=1e-6)
    assert found[0] == 0.0


def test_the_worst_rows_known_stay_below_their_bound() -> None:
    """One token and n equal others, at the gap in nats that is worst, by a scan."""
    temperatures = np.linspace(0.5, 2.0, 61)
    for n in (1, 1_000, 2**16, 2**18):
        gaps = np.linspace(0.5, 25.0, 99)[:, None]
        norm = np.logaddexp(0.0, math.log(n) - gaps)

        def exact(beta: np.ndarray, n: int = n, gaps: np.ndarray = gaps) -> np.ndarray:
            return np.logaddexp(0.0, math.log(n) - beta * gaps)

        sketch = sketch_of_node_values(
            exact(NODE_INVERSE_TEMPERATURES[None]) - NODE_INVERSE_TEMPERATURES * norm
        )
        errors = [
            np.abs(log_partition_at(t, sketch) - (exact(np.array(1 / t)) - norm / t)[:, 0]).max()
            for t in temperatures.tolist()
        ]
        assert max(errors) < WORST_TWO_LEVEL_ERROR
        if n == 1:
            assert max(errors) < 1e-6


@pytest.mark.parametrize("temperature", [0.4999, 2.0001, 0.0, -1.0, math.inf, math.nan])
def test_a_temperature_out_of_range_is_refused_everywhere(
    rows: np.ndarray, temperature: float
) -> None:
    sketch = temperature_sketch(rows)
    answers = (
        lambda: log_partition_at(temperature, sketch),
        lambda: confidence_at(temperature, sketch, np.exp(rows.max(axis=1))),
        lambda: log_loss_at(temperature, sketch, rows[:, 0]),
        lambda: entropy_at(temperature, sketch),
        lambda: sum_of_squares_at(temperature, sketch),
        lambda: mass_ahead_at(temperature, sketch, sketch),
    )
    for answer in answers:
        with pytest.raises(SketchError, match=r"where the sketch\s+holds, got"):
            answer()


def test_squares_need_twice_the_inverse_temperature() -> None:
    with pytest.raises(SketchError, match=r"\[1, 2\], where the sketch holds, got 0.9"):
        sum_of_squares_at(0.9, np.zeros((1, SKETCH_LENGTH)))


@pytest.mark.parametrize("bad", [math.nan, math.inf])
def test_a_row_that_is_no_forecast_is_refused(bad: float) -> None:
    with pytest.raises(SketchError, match="in row 1"):
        temperature_sketch([[0.0, -1.0], [0.0, bad]])
    with pytest.raises(SketchError, match="in row 0"):
        temperature_sketch([[-math.inf, -math.inf]])


def test_no_bit_of_a_sketch_depends_on_the_other_rows(
    rows: np.ndarray, outcome: np.ndarray
) -> None:
    together, ahead = temperature_sketch(rows), mass_ahead_sketch(rows, outcome)
    for place in range(len(rows)):
        alone = temperature_sketch(rows[place : place + 1])
        assert np.array_equal(alone[0], together[place])
        alone = mass_ahead_sketch(rows[place : place + 1].copy(), outcome[place : place + 1])
        assert np.array_equal(alone[0], ahead[place], equal_nan=True)
