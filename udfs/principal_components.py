"""Principal components of diversity vectors in one coordinate frame."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from udfs.credal_sets import checked_points


@dataclass(frozen=True)
class PrincipalComponents:
    """Directions of greatest variance, the greatest first.

    Attributes
    ----------
    variances : tuple of float, shape (axes,)
        Population variances along them, in squared units of the frame.
    variance_shares : tuple of float or None, shape (axes,)
        The same over their sum, in [0, 1]; None where all points are equal.
    loadings : tuple of tuple of float, shape (axes, axes)
        One unit vector for each component; its largest coordinate is positive, since a direction
        has no sign of its own.
    """

    variances: tuple[float, ...]
    variance_shares: tuple[float | None, ...]
    loadings: tuple[tuple[float, ...], ...]


def principal_components(points: ArrayLike) -> PrincipalComponents:
    """Eigenvectors of the covariance of *points*, taken as they are scaled.

    On z-scored axes this is the PCA of the correlations, on raw axes that of the covariances: the
    two tell different stories, so the frame belongs to every number.

    Parameters
    ----------
    points : array_like of float, shape (n, axes)

    Raises
    ------
    CredalSetError
        See `checked_points`.

    Examples
    --------
    >>> found = principal_components([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 1.0]])
    >>> found.variances, found.variance_shares
    ((1.0, 0.25), (0.8, 0.2))
    """
    table = checked_points(points)
    # Seen from the least value of each axis, one on which all agree is exactly 0, whatever it was.
    table = table - table.min(axis=0)
    centred = table - [math.fsum(axis.tolist()) / len(axis) for axis in table.T]
    covariances = np.array(
        [
            [math.fsum((first * second).tolist()) / len(table) for second in centred.T]
            for first in centred.T
        ]
    )
    values, vectors = np.linalg.eigh(covariances)
    # A variance of 0 can come out a rounding below it.
    variances = np.maximum(values[::-1], 0.0)
    total = math.fsum(variances.tolist())
    directions = vectors.T[::-1]
    signs = [np.sign(direction[np.abs(direction).argmax()]) for direction in directions]
    return PrincipalComponents(
        variances=tuple(variances.tolist()),
        variance_shares=tuple(
            value / total if total > 0.0 else None for value in variances.tolist()
        ),
        loadings=tuple(
            tuple((sign * direction).tolist())
            for sign, direction in zip(signs, directions, strict=True)
        ),
    )
