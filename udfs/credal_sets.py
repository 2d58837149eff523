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
from udfs.frames import LARGEST_COORDINATE

RANK_TOLERANCE = 1e-10
"""A direction counts as flat where its singular value is at most this share of the largest.

Rounding leaves some 1e-16 of it in a flat direction; the thinnest real set among the released
vectors (one prompt of 500 off the plane) has 2e-2.
"""

SMALLEST_EXTENT = 1e-100
"""Points nearer to each other than this, yet not equal, have measures below double precision."""


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
        No points, not a table of one to three axes, or a coordinate that is not finite or beyond
        `LARGEST_COORDINATE`.
    """
    try:
        # Adding 0 turns -0.0 into 0.0, so that equal rows are equal in every bit.
        table = np.asarray(points, dtype=np.float64) + 0.0
    except ValueError:
        raise CredalSetError(
            f"{name} must be numbers, as many in every row, got rows of different lengths or "
            "something else; give every point all its axes."
        ) from None
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
    largest = float(np.abs(table).max())
    if largest > LARGEST_COORDINATE:
        raise CredalSetError(
            f"{name} must stay within {LARGEST_COORDINATE:g} of 0, got {largest:g}; rescale them."
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
        See `checked_points`; or distinct points within `SMALLEST_EXTENT` of each other.

    Notes
    -----
    The rank compares the spread along one direction with the spread along another, so an axis
    2e10 times shorter than the others counts as flat: scale axes before, as every frame but `raw`
    does.

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
    distinct = _distinct_rows(checked_points(points))
    axes = distinct.shape[1]
    # Taken about a point of the set rather than about a rounded mean: equal coordinates then
    # become exactly 0.
    shifted = distinct - distinct[0]
    extent = float(np.abs(shifted).max())
    if 0.0 < extent < SMALLEST_EXTENT:
        raise CredalSetError(
            f"points must be equal or spread over at least {SMALLEST_EXTENT:g}, got {extent:g}; "
            "rescale them."
        )
    singular_values, directions = _principal_directions(shifted - shifted.mean(axis=0))
    tolerance = RANK_TOLERANCE * float(singular_values[0])
    rank = int((singular_values > tolerance).sum())
    indices, measure = _hull(shifted, directions[:rank])
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


def _distinct_rows(points: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the distinct rows of *points* in lexicographic order."""
    ordered = points[np.lexsort(points.T[::-1])]
    is_new = np.ones(len(ordered), dtype=np.bool_)
    is_new[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
    return ordered[is_new]


def _principal_directions(
    centred: NDArray[np.float64],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return singular values, shape (axes,), and right singular vectors, one a row.

    They are those of the triangular factor of a QR decomposition, which modified Gram-Schmidt finds
    as exactly as any other method finds it. Its sums are numpy's own, while those of a linear
    algebra library may be shared out over as many threads as the machine has, and round
    accordingly.
    """
    size = float(np.abs(centred).max()) or 1.0
    columns = list(centred.T / size)
    triangle = np.zeros((len(columns), len(columns)))
    for place, column in enumerate(columns):
        length = math.sqrt(float((column * column).sum()))
        triangle[place, place] = length
        if length == 0.0:
            continue
        direction = column / length
        for later in range(place + 1, len(columns)):
            share = float((direction * columns[later]).sum())
            triangle[place, later] = share
            columns[later] = columns[later] - share * direction
    _, values, directions = np.linalg.svd(triangle)
    return values * size, directions


def _hull(shifted: NDArray[np.float64], directions: NDArray[np.float64]) -> tuple[list[int], float]:
    """Return which points are vertices and the measure of their hull along *directions*."""
    rank, axes = directions.shape
    if rank == 0:
        return [0], 1.0
    spanned = shifted
    if rank < axes:
        spanned = np.stack([(shifted * direction).sum(axis=1) for direction in directions], axis=1)
    if rank == 1:
        line = spanned[:, 0]
        ends = [int(line.argmin()), int(line.argmax())]
        return ends, math.dist(shifted[ends[0]], shifted[ends[1]])
    hull = ConvexHull(spanned)
    return [int(vertex) for vertex in hull.vertices], float(hull.volume)
