"""Coordinate frames: how the axes of diversity vectors are scaled before a hull is taken."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from udfs.errors import CalibraryError

CONSTANT_AXIS_TOLERANCE = 1e-12
"""An axis whose sd is at most this share of its largest value is constant.

Equal values can leave a computed sd of some 1e-16 of their size; real axes spread above 1e-3.
"""

LARGEST_COORDINATE = 1e100
"""Beyond it a variance or the volume of a hull could leave the range of double precision."""


class FrameError(CalibraryError):
    """An axis cannot be scaled."""


@dataclass(frozen=True)
class AxisScale:
    """Mean and population standard deviation of one axis."""

    mean: float
    sd: float


def axis_scale(values: ArrayLike) -> AxisScale:
    """Mean and population standard deviation (ddof 0) of one axis, correctly rounded sums.

    Parameters
    ----------
    values : array_like of float, shape (n,)
        Coordinates, n at least 1; their order changes no bit of the result.

    Returns
    -------
    AxisScale
        `sd` is exactly 0 for a constant axis (see `CONSTANT_AXIS_TOLERANCE`): a coordinate scaled
        by it is 0 by definition.

    Raises
    ------
    FrameError
        No values, one that is not finite (with its place), or values too large to be squared.

    Examples
    --------
    >>> axis_scale([1.0, 3.0])
    AxisScale(mean=2.0, sd=1.0)
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.size == 0:
        raise FrameError("an axis must have at least one value, got none.")
    bad = np.flatnonzero(~np.isfinite(numbers))
    if len(bad):
        raise FrameError(f"an axis must be finite, got {numbers[bad[0]]} in place {bad[0]}.")
    largest = float(np.abs(numbers).max())
    if largest > LARGEST_COORDINATE:
        raise FrameError(
            f"an axis must stay within {LARGEST_COORDINATE:g} of 0, got {largest:g}; rescale it."
        )
    mean = math.fsum(numbers.tolist()) / len(numbers)
    # In units of a power of two, which costs no bit, small deviations have squares above 0.
    deviations = numbers - mean
    unit = math.ldexp(1.0, math.frexp(float(np.abs(deviations).max()))[1])
    deviations /= unit
    sd = unit * math.sqrt(math.fsum((deviations * deviations).tolist()) / len(numbers))
    return AxisScale(mean, 0.0 if sd <= CONSTANT_AXIS_TOLERANCE * largest else sd)
