"""Credal sets: convex hulls of diversity vectors, at every affine rank, without noise.

The affine rank is found first. Qhull is asked for a hull only in the space the points span, so a
flat set is measured as what it is (an area, a length) instead of failing or being shaken apart.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import ConvexHull

from udfs.errors import CalibraryError

RANK_TOLERANCE = 1e-10
"""A direction counts as flat where its singular value is at most this share of the largest.

Rounding leaves some 1e-16 of it in a flat direction; the thinnest real set among the released
vectors (one prompt of 500 off the plane) has 2e-2.
"""


class CredalSetError(CalibraryError):
    """Points from which no convex hull can be taken."""


@dataclass(frozen=True)
class CredalSet:
    """Convex hull of one set of diversity vectors.

    Attributes
    ----------
    hull_rank : int
        Affine rank of the points, from 0 (one point) to the number of axes.
    hull_measure : float
        Measure in that rank: 1 for a point (its count), then length, area, volume.
    hull_volume : float
        Measure in the full space of the axes (area for two axes, volume for three); 0 when flat.
    vertex_count : int
        Vertices of the hull.
    vertices : tuple of tuple of float, shape (vertex_count, axes)
        The vertices, points that were given, in lexicographic order.
    is_degenerate : bool
        Whether the rank is below the number of axes.
    rank_tolerance : float
        Singular values at or below this counted as 0.
    singular_values : tuple of float, shape (axes,)
        Of the centred points, largest first.
    """

    hull_rank: int
    hull_measure: float
    hull_volume: float
    vertex_count: int
    vertices: tuple[tuple[float, ...], ...]
    is_degenerate: bool
    rank_tolerance: float
    singular_values: tuple[float, ...]


def checked_points(points: ArrayLike, name: str = "points") -> NDArray[np.float64]:
    """Return *points* as an array of shape (n, axes).

    Raises
    ------
    CredalSetError
        No points, not a table of one to three axes, or a coordinate that is not finite.
    """
    table = np.asarray(points, dtype=np.float64)
    if table.ndim != 2 or len(table) == 0 or not 1 <= table.shape[1] <= 3:
        raise CredalSetError(
            f"{name} must be a table of at least one row and one to three axes, "
            f"got shape {table.shape}."
        )
    bad = np.argwhere(~np.isfinite(table))
    if len(bad):
        row, axis = bad[0]
        raise CredalSetError(
            f"{name} must be finite, got {table[row, axis]} in row {row}, axis {axis}; "
            "leave that prompt out or measure it again."
        )
    return table


def credal_set(points: ArrayLike) -> CredalSet:
    """Convex hull of *points* (Quickhull [1]_), found in the space that they span.

    Parameters
    ----------
    points : array_like of float, shape (n, axes)
        Diversity vectors over prompts, already scaled; one to three axes, n at least 1. Neither
        the order of rows nor repeated rows change any bit of the result.

    Returns
    -------
    CredalSet

    Raises
    ------
    CredalSetError
        See `checked_points`.

    Notes
    -----
    No noise is added and Qhull's joggle is never used: both hide flat sets behind a volume of
    1e-9 and invent vertices [2]_.

    References
    ----------
    .. [1] Barber, Dobkin and Huhdanpaa (1996), *The Quickhull algorithm for convex hulls*.
    .. [2] *The Geometry of Creative Variability*, section 3.5, standardises every set on itself
       first; here scaling is the coordinate frame's business.

    Examples
    --------
    >>> square = credal_set([[0, 0, 5], [2, 0, 5], [0, 2, 5], [2, 2, 5], [1, 1, 5]])
    >>> square.hull_rank, square.hull_measure, square.hull_volume, square.vertex_count
    (2, 4.0, 0.0, 4)
    """
    distinct = np.unique(checked_points(points), axis=0)
    axes = distinct.shape[1]
    # Taken about the first point, which is exact, rather than about a rounded mean: equal
    # coordinates then stay exactly 0.
    shifted = distinct - distinct[0]
    centred = shifted - shifted.mean(axis=0)
    _, values, directions = np.linalg.svd(centred, full_matrices=True)
    singular_values = np.zeros(axes)
    singular_values[: len(values)] = values
    tolerance = RANK_TOLERANCE * float(singular_values[0])
    rank = int((singular_values > tolerance).sum())
    indices, measure = _hull(shifted, directions, rank, axes)
    vertices = tuple(tuple(row) for row in distinct[sorted(indices)].tolist())
    return CredalSet(
        hull_rank=rank,
        hull_measure=measure,
        hull_volume=measure if rank == axes else 0.0,
        vertex_count=len(vertices),
        vertices=vertices,
        is_degenerate=rank < axes,
        rank_tolerance=tolerance,
        singular_values=tuple(singular_values.tolist()),
    )


def _hull(
    shifted: NDArray[np.float64], directions: NDArray[np.float64], rank: int, axes: int
) -> tuple[list[int], float]:
    """Return which points are vertices and the measure of their hull in *rank* dimensions."""
    if rank == 0:
        return [0], 1.0
    spanned = shifted if rank == axes else shifted @ directions[:rank].T
    if rank == 1:
        line = spanned[:, 0]
        ends = [int(line.argmin()), int(line.argmax())]
        return ends, float(math.dist(shifted[ends[0]], shifted[ends[1]]))
    hull = ConvexHull(spanned)
    return [int(vertex) for vertex in hull.vertices], float(hull.volume)
