"""The temperature sketch: sixteen numbers a token that give its forecast at any temperature.

With z the log-probabilities of a row and β = 1/τ, log Z(β) = log Σ exp(βz) is smooth in log β, so
its Chebyshev interpolant of degree 15 on τ in [0.5, 2] stands for the whole row. With the sketch,
the log-probability of the outcome and that of the top label, everything below follows at any
temperature of the range, and outside it nothing does: a polynomial says nothing about where it
was not fitted, so such a temperature is refused.

Error of log Z(β), rounding to what is stored (`udfs.stored_sketches`) included
-------------------------------------------------------------------------------
Language models over text (SmolLM2-135M, 49,152 tokens, human stories): below 1e-4 for every token,
below 1e-6 nats in the mean log loss and below 1e-4 in the confidence, as the tests measure.
Entropy needs the slope, which a polynomial knows worst at its ends: below 2e-3 nats a token for τ
in [0.6, 1.8], below 3e-2 at 0.5 and 2, and below 5e-4 in the mean over tokens everywhere.
Any row: what limits the interpolant are the complex zeros of Z. The hardest rows that we know have
one likely token and n equal others, whose zeros lie at the angle atan(π / log n) from the real
axis: `WORST_TWO_LEVEL_ERROR` bounds those. At τ = 1 the stored confidence and log-probability need
no sketch and are exact.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from udfs.errors import CalibraryError

SKETCH_LENGTH = 16
"""K: coefficients of one sketch. 12 would be off by 7e-5 nats in the mean."""

LOWEST_TEMPERATURE, HIGHEST_TEMPERATURE = 0.5, 2.0
"""τ range of a sketch, both ends included; log₂ β runs over [−1, 1] in it."""

WORST_TWO_LEVEL_ERROR = 3e-3
"""Nats; largest error over rows of one token of any probability and up to 2¹⁸ equal others.

It is 2e-8 for one other token, 4e-5 for 1,000 and 1.2e-3 for 2¹⁶.
"""

_DEGREES = np.arange(SKETCH_LENGTH)
_ANGLES = math.pi * (_DEGREES + 0.5) / SKETCH_LENGTH

NODE_INVERSE_TEMPERATURES: NDArray[np.float64] = 2.0 ** np.cos(_ANGLES)
"""β at the Chebyshev nodes of the first kind, largest first, shape (16,)."""

NODE_VALUES_TO_SKETCH: NDArray[np.float64] = (
    np.cos(np.outer(_DEGREES, _ANGLES)) * np.where(_DEGREES == 0, 1.0, 2.0)[:, None]
) / SKETCH_LENGTH
"""Matrix from values at the nodes to coefficients of T₀ … T₁₅, shape (16, 16)."""

_CHUNK_ELEMENTS = 1 << 22
"""Numbers raised to powers at once: 32 MB of scratch space, whatever the vocabulary."""


class SketchError(CalibraryError):
    """A temperature or a row that no sketch can answer for."""


def log_partition(log_probabilities: ArrayLike, inverse_temperature: float) -> NDArray[np.float64]:
    """log Z(β) = log Σ exp(βz) of every row, in nats, exactly.

    Parameters
    ----------
    log_probabilities : array_like of float, shape (rows, V)
        z; −inf marks an impossible outcome. Rows need not be normalised.
    inverse_temperature : float
        β > 0.

    Returns
    -------
    ndarray of float64, shape (rows,)
        0 at β = 1 for normalised rows; −inf for a row without a possible outcome.

    Examples
    --------
    >>> log_partition([[0.0, -math.inf]], 2.0).tolist()
    [0.0]
    """
    rows = np.atleast_2d(np.asarray(log_probabilities, dtype=np.float64))
    top = rows.max(axis=1)
    shift = np.where(np.isfinite(top), top, 0.0)
    with np.errstate(divide="ignore"):  # a row of −inf alone has the log partition −inf
        summed = np.log(np.exp(inverse_temperature * (rows - shift[:, None])).sum(axis=1))
    partition: NDArray[np.float64] = inverse_temperature * shift + summed
    return partition


def temperature_sketch(log_probabilities: ArrayLike) -> NDArray[np.float32]:
    """Sketch log Z of every row: Chebyshev coefficients in log₂ β, see `log_partition_at`.

    Parameters
    ----------
    log_probabilities : array_like of float, shape (rows, V)
        Normalised in float32 or better; −inf marks an impossible outcome, NaN is refused.

    Returns
    -------
    ndarray of float32, shape (rows, 16)

    Raises
    ------
    SketchError
        A row holds NaN or +inf, or no possible outcome.

    Examples
    --------
    >>> temperature_sketch([[0.0, -math.inf]]).any()
    np.False_
    """
    rows = np.atleast_2d(np.asarray(log_probabilities))
    chunk = max(1, _CHUNK_ELEMENTS // max(1, rows.shape[1]))
    values = np.empty((len(rows), SKETCH_LENGTH))
    for start in range(0, len(rows), chunk):
        part = rows[start : start + chunk].astype(np.float64)
        for place, inverse_temperature in enumerate(NODE_INVERSE_TEMPERATURES.tolist()):
            values[start : start + chunk, place] = log_partition(part, inverse_temperature)
    return sketch_of_node_values(values)


def mass_ahead_sketch(log_probabilities: ArrayLike, outcome: ArrayLike) -> NDArray[np.float32]:
    """Sketch log Σ exp(βz) over the outcomes ahead of the one that came, see `mass_ahead_at`.

    Ahead is who is likelier, or as likely with a lower number. Temperature keeps that order, so one
    sketch serves all of them.

    Parameters
    ----------
    log_probabilities : array_like of float, shape (rows, V)
        As in `temperature_sketch`.
    outcome : array_like of int, shape (rows,)
        Number of the outcome that came, from 0.

    Returns
    -------
    ndarray of float32, shape (rows, 16)
        NaN throughout where nothing is ahead: the log of no mass has no polynomial. SQL stores
        NULL there, and rank 0 says why.

    Examples
    --------
    >>> mass_ahead_sketch([[math.log(0.5), math.log(0.5)]], [0]).tolist()[0][:2]
    [nan, nan]
    """
    rows = np.atleast_2d(np.asarray(log_probabilities, dtype=np.float64))
    own = np.asarray(outcome, dtype=np.int64)[:, None]
    came = np.take_along_axis(rows, own, axis=1)
    is_ahead = (rows > came) | ((rows == came) & (np.arange(rows.shape[1]) < own))
    sketches = np.full((len(rows), SKETCH_LENGTH), np.nan, dtype=np.float32)
    some = is_ahead.any(axis=1)
    if some.any():
        sketches[some] = temperature_sketch(np.where(is_ahead[some], rows[some], -np.inf))
    return sketches


def sketch_of_node_values(values: ArrayLike) -> NDArray[np.float32]:
    """Turn log Z at `NODE_INVERSE_TEMPERATURES` into coefficients.

    Parameters
    ----------
    values : array_like of float, shape (rows, 16)
        Nats, one column per node.

    Raises
    ------
    SketchError
        A value is not finite.
    """
    nodes = np.asarray(values, dtype=np.float64)
    bad = np.flatnonzero(~np.isfinite(nodes).all(axis=1))
    if len(bad):
        raise SketchError(
            "a row to sketch must have a finite log partition, "
            f"got {nodes[bad[0]].tolist()} in row {bad[0]}; quarantine that row."
        )
    # Not one matrix product: its last bits depend on where the rows lie and on how many there are.
    columns = [(nodes * weights).sum(axis=1) for weights in NODE_VALUES_TO_SKETCH]
    return np.stack(columns, axis=1).astype(np.float32)


def checked_temperature(temperature: float, lowest: float = LOWEST_TEMPERATURE) -> float:
    """Return *temperature* where a sketch can answer for it.

    Raises
    ------
    SketchError
        It lies outside [*lowest*, 2].
    """
    if not lowest <= temperature <= HIGHEST_TEMPERATURE:
        raise SketchError(
            f"the temperature must be in [{lowest:g}, {HIGHEST_TEMPERATURE:g}], where the sketch "
            f"holds, got {temperature:g}; score again with exact rows for others."
        )
    return temperature


def value_basis(log2_inverse_temperature: float) -> NDArray[np.float64]:
    """T₀ … T₁₅ at x = log₂ β in [−1, 1]: the inner product with a sketch is log Z(β)."""
    basis: NDArray[np.float64] = np.cos(_DEGREES * math.acos(log2_inverse_temperature))
    return basis


def slope_basis(log2_inverse_temperature: float) -> NDArray[np.float64]:
    """Derivatives of T₀ … T₁₅ by x, of which the inner product is dlog Z/dx."""
    return np.asarray(_SLOPE_MATRIX @ value_basis(log2_inverse_temperature))


def slope_matrix() -> NDArray[np.float64]:
    """Matrix from T to T′: T′ₖ = 2k Σ Tₘ over m < k of the other parity, T₀ taken half."""
    matrix = np.zeros((SKETCH_LENGTH, SKETCH_LENGTH))
    for degree in range(SKETCH_LENGTH):
        lower = np.arange(1 - degree % 2, degree, 2)
        matrix[degree, lower] = np.where(lower == 0, 1.0, 2.0) * degree
    return matrix


_SLOPE_MATRIX = slope_matrix()

CURVATURE_MATRIX: NDArray[np.float64] = _SLOPE_MATRIX @ _SLOPE_MATRIX
"""Matrix from T to T″, shape (16, 16)."""


def log_partition_at(temperature: float, sketch: ArrayLike) -> NDArray[np.float64]:
    """log Z(1/τ) in nats from the sketch: its inner product with the basis at log₂(1/τ).

    Parameters
    ----------
    temperature : float
        τ in [0.5, 2].
    sketch : array_like of float, shape (rows, 16)

    Returns
    -------
    ndarray of float64, shape (rows,)

    Raises
    ------
    SketchError
        τ is outside the range.
    """
    place = -math.log2(checked_temperature(temperature))
    return np.asarray(np.asarray(sketch, dtype=np.float64) @ value_basis(place))


def confidence_at(
    temperature: float, sketch: ArrayLike, confidence: ArrayLike
) -> NDArray[np.float64]:
    """Probability of the top label at τ: exp(β z_max − log Z(β)), in [0, 1] up to the error.

    Parameters
    ----------
    temperature, sketch
        As in `log_partition_at`.
    confidence : array_like of float, shape (rows,)
        The same at τ = 1, above 0. Which label is on top does not depend on τ.
    """
    log_confidence = np.log(np.asarray(confidence, dtype=np.float64))
    partition = log_partition_at(temperature, sketch)
    return np.asarray(np.exp(log_confidence / temperature - partition))


def log_loss_at(
    temperature: float, sketch: ArrayLike, log_probability_nats: ArrayLike
) -> NDArray[np.float64]:
    """−log p of the outcome at τ, in nats: log Z(β) − β z_y.

    Parameters
    ----------
    temperature, sketch
        As in `log_partition_at`.
    log_probability_nats : array_like of float, shape (rows,)
        z_y, the log-probability of the outcome at τ = 1; at most 0.
    """
    own = np.asarray(log_probability_nats, dtype=np.float64)
    return np.asarray(log_partition_at(temperature, sketch) - own / temperature)


def entropy_at(temperature: float, sketch: ArrayLike) -> NDArray[np.float64]:
    """Entropy of the forecast at τ, in nats: log Z(β) − β (log Z)′(β).

    In x = log₂ β the second term is (dlog Z/dx)/ln 2, which makes one inner product of both.
    """
    place = -math.log2(checked_temperature(temperature))
    basis = value_basis(place) - slope_basis(place) / math.log(2.0)
    return np.asarray(np.asarray(sketch, dtype=np.float64) @ basis)


def sum_of_squares_at(temperature: float, sketch: ArrayLike) -> NDArray[np.float64]:
    """Σ p² of the forecast at τ: Z(2β)/Z(β)², in (0, 1].

    The multi-class Brier score is Σ p² − 2 p_y + 1.

    Parameters
    ----------
    temperature : float
        τ in [1, 2]: below 1, 2β leaves the range of the sketch.
    sketch : array_like of float, shape (rows, 16)

    Raises
    ------
    SketchError
        τ is outside that range.
    """
    checked_temperature(temperature, lowest=2.0 * LOWEST_TEMPERATURE)
    doubled = log_partition_at(temperature / 2.0, sketch)
    return np.asarray(np.exp(doubled - 2.0 * log_partition_at(temperature, sketch)))


def mass_ahead_at(
    temperature: float, sketch: ArrayLike, ahead_sketch: ArrayLike
) -> NDArray[np.float64]:
    """Probability at τ of the outcomes ahead of the one that came, in [0, 1] up to the error.

    Parameters
    ----------
    temperature, sketch
        As in `log_partition_at`.
    ahead_sketch : array_like of float, shape (rows, 16)
        From `mass_ahead_sketch`; a row of NaN means that nothing is ahead and gives exactly 0.
    """
    ahead = np.asarray(ahead_sketch, dtype=np.float64)
    log_mass = log_partition_at(temperature, ahead) - log_partition_at(temperature, sketch)
    return np.where(np.isnan(ahead).any(axis=-1), 0.0, np.exp(log_mass))
