"""Convex polytopes in one to three dimensions: exact intersection and exact distances.

A polytope is given by its vertices and lives at its affine rank. Intersections come from
half-spaces, distances from point to face: nothing is sampled, nothing is shaken.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection
from scipy.spatial.distance import cdist

from udfs.credal_sets import RANK_TOLERANCE, CredalSet, checked_points, credal_set

Points = NDArray[np.float64]

SMALLEST_RADIUS = 1e-9
"""Inscribed radius below which an intersection has no measure, with the union scaled to size 1.

The linear program that finds the radius is solved to 1e-10; a ball this small has a volume below
1e-26 of the union's.
"""


THIN = 1e-6
"""Smallest over largest singular value, below which a set is scaled along its own directions: a
slab 1e-9 thin across all axes would hold no ball of `SMALLEST_RADIUS`.
"""


class IouStatus(StrEnum):
    """Why an intersection over union is what it is."""

    OK = "ok"
    DISJOINT = "disjoint"
    """The sets meet in no set of full measure, or in one of less than `SMALLEST_RADIUS`: 0."""
    DIFFERENT_RANKS = "different_ranks"
    """One is flatter than the other: 0, since the flatter one has no measure in the other."""
    DIFFERENT_PLANES = "different_planes"
    """Both are flat and lie in different planes or lines: 0."""


@dataclass(frozen=True)
class Iou:
    """Measure of the intersection over measure of the union, in [0, 1], and why."""

    iou: float
    iou_status: IouStatus


def intersection_over_union(first: ArrayLike, second: ArrayLike) -> Iou:
    """Exact intersection over union of two convex hulls, by intersecting their half-spaces.

    Flat sets of equal rank that share a plane (or line, or point) are compared in it; otherwise a
    flat set shares no measure with the other, which is a 0 with its reason. Affine maps of both
    sets change nothing.

    Parameters
    ----------
    first, second : array_like of float, shape (n, axes)
        Points; one to three axes, the same in both.

    Examples
    --------
    >>> square = [[0.0, 0.0], [0.0, 2.0], [2.0, 0.0], [2.0, 2.0]]
    >>> shifted = [[1.0, 0.0], [1.0, 2.0], [3.0, 0.0], [3.0, 2.0]]
    >>> round(intersection_over_union(square, shifted).iou, 12)
    0.333333333333
    """
    a, b = checked_points(first, "first"), checked_points(second, "second")
    one, other = credal_set(a), credal_set(b)
    if one.hull_rank != other.hull_rank:
        return Iou(0.0, IouStatus.DIFFERENT_RANKS)
    together = np.vstack([one.vertices, other.vertices])
    if credal_set(together).hull_rank != one.hull_rank:
        return Iou(0.0, IouStatus.DIFFERENT_PLANES)
    if one.hull_rank == 0:
        return Iou(1.0, IouStatus.OK)
    placed = _in_spanned_space(together, one.hull_rank)
    count = one.vertex_count
    return _full_rank_iou(placed[:count], placed[count:])


def hausdorff_distance(first: CredalSet, second: CredalSet) -> float:
    """Exact Hausdorff distance: the farthest point of either polytope from the other.

    The distance to a convex set is a convex function, so it is largest at a vertex: only vertices
    are tried, each against the whole other polytope. In units of the axes.
    """
    return max(_farthest(first, second), _farthest(second, first))


def hausdorff_vertex_distance(first: CredalSet, second: CredalSet) -> float:
    """Hausdorff distance of the vertex sets: at least `hausdorff_distance`, often well above."""
    distances = cdist(np.array(first.vertices), np.array(second.vertices))
    return float(max(distances.min(axis=1).max(), distances.min(axis=0).max()))


def distances_to_polytope(points: ArrayLike, polytope: CredalSet) -> NDArray[np.float64]:
    """Distance of each of *points*, shape (m, axes), to *polytope*; 0 inside."""
    outside = np.asarray(points, dtype=np.float64)
    vertices = np.array(polytope.vertices)
    # Three coordinates serve all cases: missing axes are zero everywhere.
    pad = ((0, 0), (0, 3 - vertices.shape[1]))
    outside, corners = np.pad(outside, pad), np.pad(vertices, pad)
    if polytope.hull_rank == 0:
        return np.asarray(np.linalg.norm(outside - corners[0], axis=1))
    if polytope.hull_rank == 1:
        return _distance_to_segments(outside, corners[None, :2])
    if polytope.hull_rank == 2:
        return _distance_to_triangles(outside, _fan(corners))
    hull = ConvexHull(corners)
    distances = _distance_to_triangles(outside, corners[hull.simplices])
    inside = (hull.equations[:, :-1] @ outside.T + hull.equations[:, -1:] <= 0).all(axis=0)
    return np.where(inside, 0.0, distances)


def _farthest(source: CredalSet, target: CredalSet) -> float:
    return float(distances_to_polytope(np.array(source.vertices), target).max())


def _in_spanned_space(points: Points, rank: int) -> Points:
    """Return coordinates of *points* in the space they span, scaled to size 1 on every axis.

    Axes stay as they are where they can, so that faces that lie in one plane go on doing so.
    """
    centred = points - points.mean(axis=0)
    scores, sizes, _ = np.linalg.svd(centred, full_matrices=False)
    if rank < points.shape[1] or sizes[rank - 1] < THIN * sizes[0]:
        centred = scores[:, :rank]
    extent: Points = np.ptp(centred, axis=0)
    placed: Points = centred / extent
    return placed


def _full_rank_iou(a: Points, b: Points) -> Iou:
    if a.shape[1] == 1:
        shared = min(a.max(), b.max()) - max(a.min(), b.min())
        union = np.ptp(a) + np.ptp(b) - max(shared, 0.0)
        if shared <= SMALLEST_RADIUS:
            return Iou(0.0, IouStatus.DISJOINT)
        return Iou(float(shared / union), IouStatus.OK)
    first, second = ConvexHull(a), ConvexHull(b)
    half_spaces = np.vstack([first.equations, second.equations])
    # Coplanar triangles of one face repeat its half-space.
    half_spaces = np.unique(half_spaces.round(14), axis=0)
    inner = _inscribed_ball(half_spaces)
    if inner is None:
        return Iou(0.0, IouStatus.DISJOINT)
    corners = HalfspaceIntersection(half_spaces, inner).intersections
    shared = ConvexHull(corners).volume
    # Rounding may leave a set that covers itself a bit above 1.
    return Iou(min(1.0, float(shared / (first.volume + second.volume - shared))), IouStatus.OK)


def _inscribed_ball(half_spaces: Points) -> Points | None:
    """Return the centre of the largest ball inside the half-spaces, None where none fits."""
    normals, offsets = half_spaces[:, :-1], half_spaces[:, -1]
    lengths = np.linalg.norm(normals, axis=1)
    axes = normals.shape[1]
    found = linprog(
        np.append(np.zeros(axes), -1.0),
        A_ub=np.column_stack([normals, lengths]),
        b_ub=-offsets,
        bounds=[(None, None)] * axes + [(0.0, None)],
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    solution = found.x
    if not found.success or solution is None or solution[-1] <= SMALLEST_RADIUS:
        return None
    return np.asarray(solution[:-1], dtype=np.float64)


def _fan(corners: Points) -> Points:
    """Triangulate a flat convex polygon in space; shape (triangles, 3, 3)."""
    centred = corners - corners.mean(axis=0)
    _, _, directions = np.linalg.svd(centred, full_matrices=False)
    plane = centred @ directions[:2].T
    order = np.argsort(np.arctan2(plane[:, 1], plane[:, 0]))
    ring = corners[order]
    return np.stack([np.repeat(ring[:1], len(ring) - 2, axis=0), ring[1:-1], ring[2:]], axis=1)


def _distance_to_segments(points: Points, segments: Points) -> Points:
    """Smallest distance of each point to any segment; *segments* has shape (k, 2, 3)."""
    start, along = segments[:, 0], segments[:, 1] - segments[:, 0]
    squared = np.einsum("kj,kj->k", along, along)
    share = np.einsum("mkj,kj->mk", points[:, None] - start[None], along) / squared
    nearest = start[None] + np.clip(share, 0.0, 1.0)[..., None] * along[None]
    found: Points = np.linalg.norm(points[:, None] - nearest, axis=2).min(axis=1)
    return found


def _distance_to_triangles(points: Points, triangles: Points) -> Points:
    """Smallest distance of each point to any triangle; *triangles* has shape (k, 3, 3).

    Where the foot of the perpendicular lies inside a triangle it is the nearest point of it,
    otherwise the nearest point lies on an edge.
    """
    edges = triangles[:, [[0, 1], [1, 2], [2, 0]]].reshape(-1, 2, 3)
    to_edges = _distance_to_segments(points, edges)
    first, second = triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0]
    normals = np.cross(first, second)
    areas = np.einsum("kj,kj->k", normals, normals)
    extent = np.ptp(triangles.reshape(-1, 3), axis=0).max(initial=0.0)
    proper = areas > (RANK_TOLERANCE * extent) ** 4
    first, second, normals, areas = first[proper], second[proper], normals[proper], areas[proper]
    offsets = points[:, None] - triangles[proper, 0][None]
    # Barycentric coordinates of the foot of the perpendicular.
    v = np.einsum("mkj,kj->mk", np.cross(offsets, second[None]), normals) / areas
    w = np.einsum("mkj,kj->mk", np.cross(first[None], offsets), normals) / areas
    heights = np.abs(np.einsum("mkj,kj->mk", offsets, normals)) / np.sqrt(areas)
    inside = (v >= 0.0) & (w >= 0.0) & (v + w <= 1.0)
    to_faces = np.where(inside, heights, np.inf).min(axis=1, initial=np.inf)
    nearest: Points = np.minimum(to_edges, to_faces)
    return nearest
