"""Distances between many pairs of hulls at once: the batched twin of `udfs.polytopes`."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Points = NDArray[np.float64]

CHUNK = 16
"""Pairs at a time: some thirty arrays of 30 points by 50 triangles each stay in a core's cache."""

THINNEST_TRIANGLE = 1e-10
"""A triangle whose height is below this share of its longest side has no inside of its own."""


def vertex_distances(first: Points, second: Points) -> Points:
    """Distances of all vertices to all others, pair by pair.

    Parameters
    ----------
    first, second : ndarray of float, shape (pairs, vertices, axes)

    Returns
    -------
    ndarray of float, shape (pairs, first vertices, second vertices)
    """
    squared = np.zeros((len(first), first.shape[1], second.shape[1]))
    for axis in range(first.shape[2]):
        gap = first[:, :, None, axis] - second[:, None, :, axis]
        squared += gap * gap
    return np.sqrt(squared)


def farthest_from(points: Points, triangles: Points, equations: list[Points]) -> Points:
    """Distance of the farthest of *points* from the hull it is paired with.

    Parameters
    ----------
    points : ndarray of float, shape (pairs, points, axes)
    triangles : ndarray of float, shape (pairs, triangles, 3, axes)
        They cover the hull's boundary, or itself where it is flat or has two axes.
    equations : list of ndarray of float, shape (facets, axes + 1) each
        Half-spaces of the hull; empty where it is flat. Points inside are at distance 0.
    """
    squared = [
        _squared_to_triangles(points[start : start + CHUNK], triangles[start : start + CHUNK])
        for start in range(0, len(points), CHUNK)
    ]
    distances = np.sqrt(np.concatenate(squared))
    for place, half_spaces in enumerate(equations):
        if len(half_spaces):
            heights = points[place] @ half_spaces[:, :-1].T + half_spaces[:, -1]
            distances[place, heights.max(axis=1) <= 0.0] = 0.0
    farthest: Points = distances.max(axis=1)
    return farthest


def _squared_to_triangles(points: Points, triangles: Points) -> Points:
    """Squared distance of each point to the nearest of its triangles, shape (pairs, points).

    With p = point - corner and the edges a, b of a triangle, all that is needed are the products
    p·a, p·b and p·p, from which both the foot of the perpendicular and the three edges follow.
    """
    corner = triangles[:, None, :, 0]
    a = triangles[:, None, :, 1] - corner
    b = triangles[:, None, :, 2] - corner
    p = points[:, :, None] - corner
    aa, ab, bb = (_product(*pair) for pair in ((a, a), (a, b), (b, b)))
    pa, pb, pp = (_product(*pair) for pair in ((p, a), (p, b), (p, p)))
    nearest = np.minimum(_to_segment(pp, pa, aa), _to_segment(pp, pb, bb))
    # The third edge runs from a to b.
    along, squared = pb - pa - ab + aa, aa - 2.0 * ab + bb
    nearest = np.minimum(nearest, _to_segment(pp - 2.0 * pa + aa, along, squared))
    area = aa * bb - ab * ab
    is_proper = area > THINNEST_TRIANGLE**2 * np.maximum(aa, bb) ** 2
    with np.errstate(divide="ignore", invalid="ignore"):
        v = (bb * pa - ab * pb) / area
        w = (aa * pb - ab * pa) / area
        height = pp - v * pa - w * pb
    is_above = is_proper & (v >= 0.0) & (w >= 0.0) & (v + w <= 1.0)
    found = np.where(is_above, np.minimum(nearest, height), nearest).min(axis=2)
    floored: Points = np.maximum(found, 0.0)
    return floored


def _product(first: Points, second: Points) -> Points:
    found: Points = first[..., 0] * second[..., 0]
    for axis in range(1, first.shape[-1]):
        found = found + first[..., axis] * second[..., axis]
    return found


def _to_segment(from_start: Points, along: Points, squared: Points) -> Points:
    """Squared distance to a segment from |p|², p·edge and |edge|²; a point where the edge is 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(squared > 0.0, np.clip(along / squared, 0.0, 1.0), 0.0)
    return from_start - 2.0 * share * along + share * share * squared
