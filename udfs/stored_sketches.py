"""Sketches as the warehouse keeps them: whole numbers that a column store packs into few bits.

Float coefficients do not compress. As multiples of a power of two they take the bits of the largest
of some hundred tokens, which is that of degree 1. The others are smaller, about by half from degree
to degree, so theirs are multiples of as much less: that costs no bit, and it keeps derivatives,
which multiply the error of degree k by up to k² and k⁴.

Rounding moves log Z by at most 9.6e-6 nats (5.1e-6 at τ = 1), the entropy by 4.6e-5, and the log of
the mass ahead by twice the former; in a mean over unlike tokens it averages out. No forecast
overflows: log Z of doubles is above −1.5e3, and rows of 2³¹ outcomes keep degree 15 below 0.02.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from udfs.temperature_sketch import SKETCH_LENGTH, SketchError

_DEGREES = np.arange(SKETCH_LENGTH)

SKETCH_BITS: NDArray[np.int64] = 17 + np.where(_DEGREES > 1, _DEGREES, 0)
"""Units of the temperature sketch are 2⁻ᵇ nats with these b, one per degree, shape (16,).

One bit more for all takes 2 bytes a token, of the 120 that a token may take with all its columns.
"""

AHEAD_SKETCH_BITS: NDArray[np.int64] = SKETCH_BITS - 1
"""The same of the mass-ahead sketch, which answers to 1e-4 only and is not differentiated."""

_LIMIT = 2.0**31


def stored_sketch(sketch: ArrayLike, bits: NDArray[np.int64]) -> NDArray[np.int32]:
    """Round sketches to the units that the warehouse keeps.

    Parameters
    ----------
    sketch : array_like of float, shape (rows, 16)
        Nats; finite.
    bits : ndarray of int64, shape (16,)
        `SKETCH_BITS` or `AHEAD_SKETCH_BITS`.

    Returns
    -------
    ndarray of int32, shape (rows, 16)
        Multiples of 2⁻ᵇ, halves to the even one.

    Raises
    ------
    SketchError
        A coefficient is no number or takes more than 32 bits.

    Examples
    --------
    >>> stored_sketch([[0.5] + [0.0] * 15], SKETCH_BITS)[0, 0] == 2**16
    np.True_
    """
    numbers = np.asarray(sketch, dtype=np.float64) * np.ldexp(1.0, bits)
    np.rint(numbers, out=numbers)
    bad = ~(np.abs(numbers) < _LIMIT)
    if bad.any():
        row, degree = np.argwhere(bad)[0].tolist()
        value = np.ldexp(numbers[row, degree], -bits[degree])
        raise SketchError(
            f"a coefficient of degree {degree} must be below {_LIMIT / 2.0 ** bits[degree]:g} nats "
            f"in size to be stored, got {value:g} in row {row}; quarantine that row."
        )
    return numbers.astype(np.int32)


def sketch_of_stored(stored: ArrayLike, bits: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return stored sketches, or their sums or means, in nats.

    Parameters
    ----------
    stored : array_like of int or float, shape (…, 16)
    bits : ndarray of int64, shape (16,)
        `SKETCH_BITS` or `AHEAD_SKETCH_BITS`.

    Returns
    -------
    ndarray of float64, shape (…, 16)
        Exact: a power of two changes no digit.

    Examples
    --------
    >>> sketch_of_stored([2**16] + [0] * 15, SKETCH_BITS)[0]
    np.float64(0.5)
    """
    return np.asarray(np.asarray(stored, dtype=np.float64) * np.ldexp(1.0, -bits))


def rounding_error(basis: ArrayLike) -> float:
    """Return what storing can move the inner product of a temperature sketch with *basis* by.

    Half a unit of every degree, with the signs that are worst.

    Parameters
    ----------
    basis : array_like of float, shape (16,)
        Such as `udfs.temperature_sketch.value_basis`.
    """
    return float(np.abs(np.asarray(basis, dtype=np.float64)) @ np.ldexp(0.5, -SKETCH_BITS))
