"""Hulls of many subsets of one set of points, as padded arrays that numpy can work on at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import ConvexHull, QhullError

from udfs.credal_sets import credal_set

Points = NDArray[np.float64]
Rows = NDArray[np.int64]

THINNEST_SHARE = 1e-6
"""A hull that fills less of its bounding box than this has its affine rank looked at.

Real full hulls fill a tenth of it; a set that counts as flat (1e-10 of its length) fills far less
than this, so nothing flat passes for full.
"""


_NO_EDGES = np.empty((0, 2), dtype=np.int64)


@dataclass(frozen=True)
class Hull:
    """One hull in terms of the rows of its points.

    Attributes
    ----------
    corners : ndarray of int, shape (vertices,)
        Rows that are vertices.
    triangles : ndarray of int, shape (triangles, 3)
        Rows of the corners of triangles that cover its boundary (in three dimensions) or itself
        (flat sets and two dimensions); a segment or point repeats a corner.
    edges : ndarray of int, shape (edges, 2)
        Rows of both ends of each edge; diagonals within a face of several triangles are among
        them. Empty for a flat set.
    equations : ndarray of float, shape (facets, axes + 1)
        Outward normals and offsets; empty for a flat set.
    hull_rank : int
    hull_volume : float
        0 for a flat set.
    """

    corners: Rows
    triangles: Rows
    edges: Rows
    equations: Points
    hull_rank: int
    hull_volume: float


@dataclass(frozen=True)
class HullBatch:
    """The hulls of several subsets.

    Attributes
    ----------
    hulls : tuple of Hull
    corners : ndarray of int, shape (subsets, most vertices)
        Padded with the first vertex, which changes no nearest distance.
    is_corner : ndarray of bool, same shape
        False for padding.
    triangles : ndarray of int, shape (subsets, most triangles, 3)
        Padded with the first triangle.
    hull_volumes : ndarray of float, shape (subsets,)
    """

    hulls: tuple[Hull, ...]
    corners: Rows
    is_corner: NDArray[np.bool_]
    triangles: Rows
    hull_volumes: Points


def hull_batch(points: Points, subsets: Rows) -> HullBatch:
    """Hulls of ``points[rows]`` for each row list of *subsets*.

    Parameters
    ----------
    points : ndarray of float, shape (n, axes)
        Checked points, two or three axes.
    subsets : ndarray of int, shape (subsets, m)
        Rows, which may repeat.
    """
    hulls = tuple(hull_of_rows(points, rows) for rows in subsets)
    most_corners = max(len(hull.corners) for hull in hulls)
    most_triangles = max(len(hull.triangles) for hull in hulls)
    corners = np.array([_padded(hull.corners, most_corners) for hull in hulls])
    counts = np.array([len(hull.corners) for hull in hulls])
    return HullBatch(
        hulls=hulls,
        corners=corners,
        is_corner=np.arange(most_corners) < counts[:, None],
        triangles=np.array([_padded(hull.triangles, most_triangles) for hull in hulls]),
        hull_volumes=np.array([hull.hull_volume for hull in hulls]),
    )


def hull_of_rows(points: Points, rows: Rows) -> Hull:
    """Hull of ``points[rows]``, at its affine rank."""
    is_chosen = np.zeros(len(points), dtype=np.bool_)
    is_chosen[rows] = True
    chosen = np.flatnonzero(is_chosen)
    placed = points[chosen]
    extent = placed.max(axis=0) - placed.min(axis=0)
    if 0.0 in extent:
        return _constant_axis_hull(points, chosen, extent)
    try:
        hull = ConvexHull(placed)
    except QhullError:
        return _flat_hull(points, chosen)
    if hull.volume < THINNEST_SHARE * float(extent.prod()):
        return _flat_hull(points, chosen)
    return _full_hull(hull, chosen)


def _constant_axis_hull(points: Points, chosen: Rows, extent: Points) -> Hull:
    """Hull of a set that does not vary along some axes, which is how real sets are flat."""
    varying = np.flatnonzero(extent)
    if len(varying) != 2:
        return _flat_hull(points, chosen)
    hull = hull_of_rows(np.ascontiguousarray(points[:, varying]), chosen)
    return replace(
        hull, edges=_NO_EDGES, equations=np.empty((0, points.shape[1] + 1)), hull_volume=0.0
    )


def _full_hull(hull: ConvexHull, chosen: Rows) -> Hull:
    axes = hull.points.shape[1]
    facets, ring = hull.simplices.astype(np.int64), hull.vertices.astype(np.int64)
    if axes == 3:
        triangles, edges = facets, _edges_of_triangles(facets, len(chosen))
    else:
        triangles, edges = _fan(ring), facets
    return Hull(
        corners=chosen[ring],
        triangles=chosen[triangles],
        edges=chosen[edges],
        equations=hull.equations,
        hull_rank=axes,
        hull_volume=float(hull.volume),
    )


def _flat_hull(points: Points, chosen: Rows) -> Hull:
    """Hull of a set that Qhull refuses or that is very thin, found the careful way."""
    found = credal_set(points[chosen])
    rows = {tuple(point): row for row, point in zip(chosen, points[chosen].tolist(), strict=True)}
    corners = np.array([rows[vertex] for vertex in found.vertices])
    axes = points.shape[1]
    if found.hull_rank == axes:
        return _full_hull(ConvexHull(points[corners]), corners)
    if found.hull_rank == 2:
        triangles = corners[_fan(_around(points[corners]))]
    else:
        triangles = corners[[[0, -1, -1]]]
    no_facets = np.empty((0, axes + 1))
    return Hull(corners, triangles, _NO_EDGES, no_facets, found.hull_rank, 0.0)


def _edges_of_triangles(triangles: Rows, row_count: int) -> Rows:
    """Edges of a closed surface, each of which two triangles share, once."""
    sides = np.concatenate([triangles[:, :2], triangles[:, 1:], triangles[:, ::2]])
    keys = np.unique(sides.min(axis=1) * row_count + sides.max(axis=1))
    return np.stack(np.divmod(keys, row_count), axis=1)


def _fan(ring: Rows) -> Rows:
    """Triangles of a convex polygon from its corners in order around it."""
    return np.stack([np.repeat(ring[:1], len(ring) - 2), ring[1:-1], ring[2:]], axis=1)


def _around(corners: Points) -> Rows:
    """Order of the corners of a flat polygon around its middle."""
    centred = corners - corners.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    plane = centred @ directions[:2].T
    return np.argsort(np.arctan2(plane[:, 1], plane[:, 0]))


def _padded(rows: Rows, count: int) -> Rows:
    return np.concatenate([rows, np.repeat(rows[:1], count - len(rows), axis=0)])
