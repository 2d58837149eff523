"""Coordinate frames: how the axes of diversity vectors are scaled before a hull is taken."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike

from udfs.errors import CalibraryError

CONSTANT_AXIS_TOLERANCE = 1e-12
"""An axis whose sd is at most this share of its largest value is constant.

Equal values can leave a computed sd of some 1e-16 of their size; real axes spread above 1e-3.
"""


class FrameError(CalibraryError):
    """An axis cannot be scaled."""


class CoordinateFrame(StrEnum):
    """Names of the frames; `pooled_z` is the default."""

    POOLED_Z = "pooled_z"
    """z-scores fitted once on the human and all generated vectors of the study."""
    HUMAN_Z = "human_z"
    """z-scores fitted on the human vectors."""
    SELF_Z = "self_z"
    """Every set on itself: what GCV's text says. Size and place lose their meaning."""
    RAW = "raw"
    """As measured."""


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
        No values, or one that is not finite, with its place.

    Examples
    --------
    >>> axis_scale([1.0, 3.0])
    AxisScale(mean=2.0, sd=1.0)
    """
    numbers: list[float] = np.asarray(values, dtype=np.float64).tolist()
    if not numbers:
        raise FrameError("an axis must have at least one value, got none.")
    for place, number in enumerate(numbers):
        if not math.isfinite(number):
            raise FrameError(f"an axis must be finite, got {number} in place {place}.")
    mean = math.fsum(numbers) / len(numbers)
    sd = math.sqrt(math.fsum((number - mean) ** 2 for number in numbers) / len(numbers))
    if sd <= CONSTANT_AXIS_TOLERANCE * max(abs(number) for number in numbers):
        sd = 0.0
    return AxisScale(mean, sd)
