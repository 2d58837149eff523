"""Claims about fitted temperatures: certificates, statuses, recovery, and other minimisers."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, logsumexp

from udfs.loss_curves import ExactRows, FitStatus, SketchedRows, TemperatureError
from udfs.selective_prediction import kendall_tau_b
from udfs.stored_sketches import SKETCH_BITS, sketch_of_stored, stored_sketch
from udfs.temperature import cross_fitted_gain, fit_temperature, tempered
from udfs.temperature_sketch import temperature_sketch


def drawn(
    temperature: float, token_count: int = 20_000, outcome_count: int = 12, seed: int = 61
) -> tuple[np.ndarray, np.ndarray]:
    """Rows and outcomes of a forecaster whose honest temperature is *temperature*."""
    rng = np.random.default_rng(seed)
    rows = log_softmax(rng.normal(size=(token_count, outcome_count)) * 2.0, axis=1)
    honest = np.exp(log_softmax(rows / temperature, axis=1))
    drawn_at = rng.random(token_count)[:, None]
    return rows, (honest.cumsum(axis=1) < drawn_at).sum(axis=1).clip(0, outcome_count - 1)


def own(rows: np.ndarray, outcome: np.ndarray) -> np.ndarray:
    return np.take_along_axis(rows, outcome[:, None], axis=1)[:, 0]


@pytest.mark.parametrize("temperature", [0.1, 0.6, 1.0, 1.7, 5.0])
def test_the_true_temperature_is_recovered_within_sampling_error(temperature: float) -> None:
    rows, outcome = drawn(temperature)
    fit = fit_temperature(ExactRows(rows, outcome))
    assert fit.status is FitStatus.CONVERGED
    assert abs(fit.gradient) < 1e-10
    assert fit.curvature > 0.0
    # The information about β is N·L″: four standard errors.
    error = 4.0 / math.sqrt(fit.token_count * fit.curvature)
    assert fit.inverse_temperature == pytest.approx(1.0 / temperature, abs=error)


@pytest.mark.parametrize("temperature", [0.6, 1.7])
def test_a_bounded_search_finds_the_same_minimum(temperature: float) -> None:
    rows, outcome = drawn(temperature, token_count=3_000)

    def loss(beta: float) -> float:
        return float(np.mean(logsumexp(beta * rows, axis=1) - beta * own(rows, outcome)))

    found = minimize_scalar(loss, bounds=(0.05, 20.0), method="bounded", options={"xatol": 1e-12})
    fit = fit_temperature(ExactRows(rows, outcome))
    assert fit.inverse_temperature == pytest.approx(found.x, abs=1e-6)
    assert fit.log_loss_nats == pytest.approx(loss(found.x), abs=1e-13)
    assert fit.log_loss_at_1_nats == pytest.approx(loss(1.0), abs=1e-13)
    assert fit.iteration_count <= 10


def test_derivatives_are_those_of_finite_differences() -> None:
    rows, outcome = drawn(1.0, token_count=200)
    for curve in (
        ExactRows(rows, outcome),
        SketchedRows(temperature_sketch(rows), own(rows, outcome)),
    ):
        for beta in (0.6, 1.0, 1.7):
            step = 1e-4
            below, here, above = (curve.at(b) for b in (beta - step, beta, beta + step))
            gradient = (above.log_loss_nats - below.log_loss_nats) / (2 * step)
            curvature = (above.gradient - below.gradient) / (2 * step)
            assert here.gradient == pytest.approx(gradient, abs=1e-7)
            assert here.curvature == pytest.approx(curvature, abs=1e-6)


def test_the_sketch_gives_the_temperature_of_the_exact_rows_to_1e_4() -> None:
    for temperature in (0.6, 1.0, 1.7):
        rows, outcome = drawn(temperature)
        exact = fit_temperature(ExactRows(rows, outcome))
        stored = stored_sketch(temperature_sketch(rows), SKETCH_BITS)
        sketch = sketch_of_stored(stored, SKETCH_BITS)
        sketched = fit_temperature(SketchedRows(sketch, own(rows, outcome)))
        assert sketched.status is FitStatus.CONVERGED
        assert sketched.fitted_temperature == pytest.approx(exact.fitted_temperature, abs=1e-4)
        assert abs(sketched.gradient) < 1e-10


def test_no_bit_of_a_sketched_fit_depends_on_the_order_of_tokens() -> None:
    rows, outcome = drawn(1.3, token_count=3_000)
    sketch, logs = temperature_sketch(rows), own(rows, outcome)
    rng = np.random.default_rng(63)
    orders = [rng.permutation(3_000) for _ in range(5)]
    fits = {fit_temperature(SketchedRows(sketch[order], logs[order])) for order in orders}
    assert len(fits) == 1


@pytest.mark.parametrize("temperature", [0.3, 4.0])
def test_a_minimum_outside_the_sketch_is_no_number(temperature: float) -> None:
    rows, outcome = drawn(temperature)
    fit = fit_temperature(SketchedRows(temperature_sketch(rows), own(rows, outcome)))
    assert fit.status is FitStatus.OUTSIDE_SKETCH
    assert fit.fitted_temperature is None
    assert fit.log_loss_nats is None


def test_outcomes_that_are_always_likeliest_have_no_finite_optimum() -> None:
    rows, _ = drawn(1.0, token_count=100)
    fit = fit_temperature(ExactRows(rows, rows.argmax(axis=1)))
    assert fit.status is FitStatus.NO_FINITE_OPTIMUM
    assert (fit.fitted_temperature, fit.log_loss_nats) == (None, None)


def test_outcomes_that_are_always_unlikeliest_have_none_either() -> None:
    rows, _ = drawn(1.0, token_count=100)
    fit = fit_temperature(ExactRows(rows, rows.argmin(axis=1)))
    assert fit.status is FitStatus.NO_FINITE_OPTIMUM


@pytest.mark.parametrize("outcome_count", [2, 7, 49_152])
def test_uniform_rows_are_flat_for_rows_and_for_sketches(outcome_count: int) -> None:
    rows = np.full((3, outcome_count), -math.log(outcome_count))
    outcome = np.array([0, 1, outcome_count - 1])
    assert fit_temperature(ExactRows(rows, outcome)).status is FitStatus.FLAT
    sketched = SketchedRows(temperature_sketch(rows), own(rows, outcome))
    assert fit_temperature(sketched).status is FitStatus.FLAT


def test_rows_uniform_over_their_possible_outcomes_are_flat() -> None:
    rows = np.array([[math.log(0.5), math.log(0.5), -math.inf], [0.0, -math.inf, -math.inf]])
    assert fit_temperature(ExactRows(rows, [1, 0])).status is FitStatus.FLAT


def test_an_outcome_called_impossible_is_left_out_and_counted() -> None:
    rows, outcome = drawn(1.3, token_count=500)
    spoiled = np.vstack([rows, rows[:3]])
    spoiled[500, 0], spoiled[501, 0], spoiled[502, 1] = -math.inf, math.nan, math.inf
    curve = ExactRows(spoiled, [*outcome, 0, 1, 2])
    assert curve.rejected_count == 3
    assert fit_temperature(curve) == fit_temperature(ExactRows(rows, outcome))
    with pytest.raises(TemperatureError, match="got none of 1"):
        ExactRows([[0.0, -math.inf]], [1])


def test_possible_outcomes_beside_impossible_ones_fit_as_if_those_were_absent() -> None:
    rows, outcome = drawn(1.3, token_count=500)
    padded = np.hstack([rows, np.full((500, 4), -math.inf)])
    with_impossible = fit_temperature(ExactRows(padded, outcome))
    without = fit_temperature(ExactRows(rows, outcome))
    assert with_impossible.fitted_temperature == pytest.approx(
        without.fitted_temperature, rel=1e-12
    )


def test_merged_rows_fit_as_their_copies_do() -> None:
    rows, outcome = drawn(1.4, token_count=400)
    weight = np.random.default_rng(62).integers(1, 6, size=400)
    merged = fit_temperature(ExactRows(rows, outcome, weight))
    copied = fit_temperature(ExactRows(np.repeat(rows, weight, axis=0), np.repeat(outcome, weight)))
    assert merged.token_count == copied.token_count == weight.sum()
    assert merged.fitted_temperature == pytest.approx(copied.fitted_temperature, rel=1e-10)


def test_a_calibrated_binary_forecast_is_left_at_1() -> None:
    """Moment matching by hand: three hits of four at probability 3/4."""
    fit = fit_temperature(ExactRows(np.log([[0.75, 0.25]] * 4), [0, 0, 0, 1]))
    assert fit.fitted_temperature == pytest.approx(1.0, abs=1e-10)
    # Nine of ten at 3/4: log-odds ln 3 become ln 9, so β = 2.
    fit = fit_temperature(ExactRows(np.log([[0.75, 0.25]] * 10), [0] * 9 + [1]))
    assert fit.inverse_temperature == pytest.approx(2.0, abs=1e-9)


def test_a_far_optimum_is_found_where_newton_alone_runs_away() -> None:
    """A hit rate of 1 − 1e-6 at probability 0.51: β = logit(hit rate)/logit(0.51) = 345."""
    rows = np.log([[0.51, 0.49]] * 2)
    fit = fit_temperature(ExactRows(rows, [0, 1], weight=[1.0 - 1e-6, 1e-6]))
    expected = math.log((1.0 - 1e-6) / 1e-6) / math.log(0.51 / 0.49)
    assert fit.inverse_temperature == pytest.approx(expected, rel=1e-3)
    assert abs(fit.gradient) < 1e-10


def test_the_accuracy_is_the_same_at_every_temperature_and_the_order_of_confidences_is_not() -> (
    None
):
    rows, outcome = drawn(1.0, token_count=2_000)
    accuracy = {
        float((tempered(rows, t).argmax(axis=1) == outcome).mean()) for t in (0.1, 0.5, 1.0, 2.0, 9)
    }
    assert len(accuracy) == 1
    first, second = (np.exp(tempered(rows, t).max(axis=1)) for t in (1.0, 2.0))
    tau_b = kendall_tau_b(first, second)
    assert tau_b is not None
    assert 0.0 < tau_b < 1.0


def test_three_rows_can_change_places_by_temperature() -> None:
    rows = np.log([[0.5, 0.5, 0.0 + 1e-300], [0.48, 0.26, 0.26], [0.4, 0.3, 0.3]])
    first, second = (np.exp(tempered(rows, t).max(axis=1)) for t in (1.0, 0.5))
    assert first[0] > first[1]
    assert second[0] < second[1]


def test_the_gain_is_that_of_the_other_half_by_hand() -> None:
    rows, outcome = drawn(1.5, token_count=2_000)
    halves = np.arange(2_000) % 3 == 0
    even, odd = (ExactRows(rows[part], outcome[part]) for part in (halves, ~halves))
    gain = cross_fitted_gain(even, odd)
    won = 0.0
    for scored, fit in ((halves, gain.odd_fit), (~halves, gain.even_fit)):
        assert fit.fitted_temperature is not None
        repaired = tempered(rows[scored], fit.fitted_temperature)
        won += float((own(repaired, outcome[scored]) - own(rows[scored], outcome[scored])).sum())
    assert gain.temperature_gain_nats == pytest.approx(won / 2_000, abs=1e-12)
    assert won > 0


def test_a_gain_can_be_negative_and_is_absent_where_a_half_has_no_fit() -> None:
    rows = np.log([[0.75, 0.25]] * 20)
    high = ExactRows(rows, [0] * 19 + [1])
    low = ExactRows(rows, [0] * 11 + [1] * 9)
    gain = cross_fitted_gain(high, low)
    assert gain.temperature_gain_nats is not None
    assert gain.temperature_gain_nats < 0.0
    assert cross_fitted_gain(high, ExactRows(rows, [0] * 20)).temperature_gain_nats is None


def test_lengths_that_differ_and_numbers_that_are_none_are_refused() -> None:
    with pytest.raises(TemperatureError, match="2 rows, 1 outcomes"):
        ExactRows([[0.0, -1.0]] * 2, [0])
    with pytest.raises(TemperatureError, match="got 0 sketches"):
        SketchedRows(np.empty((0, 16)), [])
    with pytest.raises(TemperatureError, match="must be finite"):
        SketchedRows(np.full((1, 16), math.nan), [0.0])
