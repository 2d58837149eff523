"""The comparison of two credal sets over many draws of prompts: bootstrap and random halves.

Every frame but `self_z` scales both sets by one map, so hulls, intersection, ranks and sorted
values are found once per draw and only lengths are taken per frame; a frame in which an axis is
constant flattens both sets, which are then taken anew. `self_z` is left out: each set would have to
be scaled anew in each draw, and what comes of it has no size and no place.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.stats import rankdata

from udfs.credal_overlaps import DISTANCE_WEIGHT, OVERLAP_WEIGHT, VOLUME_WEIGHT
from udfs.credal_sets import CredalSetError, checked_points
from udfs.hull_batches import HullBatch, hull_batch
from udfs.hull_distances import farthest_from, vertex_distances
from udfs.hull_intersections import iou_of_hulls
from udfs.paired_comparisons import rank_correlations
from udfs.resampling import Rows, bootstrap_rows, half_rows

Values = NDArray[np.float64]
Units = tuple[tuple[float, ...], ...]

AXIS_NAMES = ("semantic", "lexical", "syntactic")

RESTS_ON_VOLUME = frozenset({"iou", "hull_volume", "volume_ratio", "composite_calibration"})
"""Measures that say nothing of sets with no more points than axes."""


@dataclass(frozen=True)
class ResampledMeasure:
    """One measure in one frame over all draws.

    Attributes
    ----------
    frame_index : int
        0-based row of the axis units.
    measure_name : str
        Column of `fct_credal_overlaps`.
    draws : ndarray of float, shape (draws,)
        NaN where a draw has no such value, as without a volume of the human set.
    """

    frame_index: int
    measure_name: str
    draws: Values


@dataclass(frozen=True, eq=False)
class DrawnSet:
    """One set of points under many draws of its rows; all lengths in units of the points.

    Compared by identity, so that what two of them give can be kept.

    Attributes
    ----------
    points : ndarray of float, shape (n, axes)
    rows : ndarray of int, shape (draws, m)
        Rows of the points in each draw.
    hulls : HullBatch
    means, variances : ndarray of float, shape (draws, axes)
        Population variances.
    ordered : ndarray of float, shape (draws, m, axes)
        Drawn values in increasing order, axis by axis.
    ranks : ndarray of float, shape (axes, draws, m)
        In the order of the draw.
    """

    points: Values
    rows: Rows
    hulls: HullBatch
    means: Values
    variances: Values
    ordered: Values
    ranks: Values


def bootstrap_overlaps(
    human_points: ArrayLike,
    story_source_points: ArrayLike,
    axis_units: ArrayLike,
    replicate_count: int,
    seed: int,
) -> list[ResampledMeasure]:
    """Every measure of a comparison over bootstrap resamples of the shared prompts.

    Hulls of resamples nest inside the original, so all that rests on a hull is biased: compare the
    mean of the draws with the estimate before believing an interval.

    Parameters
    ----------
    human_points, story_source_points : array_like of float, shape (n, axes)
        Row i of both belongs to the same prompt; both rows are drawn together.
    axis_units : array_like of float, shape (frames, axes)
        For each coordinate frame, what one unit of the points is in it; 0 for a constant axis.
    replicate_count : int
    seed : int
        Replicate r is the same draw for all sets of n prompts.
    """
    human, source, units = _checked(human_points, story_source_points, axis_units)
    rows = bootstrap_rows(len(human), replicate_count, seed)
    drawn = _drawn(human, rows), _drawn(source, rows)
    return _measures(*drawn, units, is_paired=True)


def split_half_overlaps(
    human_points: ArrayLike,
    story_source_points: ArrayLike,
    axis_units: ArrayLike,
    split_count: int,
    seed: int,
) -> list[ResampledMeasure]:
    """Every measure between people on one random half of the prompts and a set on the other.

    Halves of no more prompts than axes are flat whatever they are: what rests on a volume is NaN.
    With the human points on both sides this is the human ceiling: what two samples of people of
    that size reach. No rank correlation: the halves share no prompt.

    Parameters
    ----------
    human_points, story_source_points, axis_units, seed
        As for `bootstrap_overlaps`.
    split_count : int
    """
    human, source, units = _checked(human_points, story_source_points, axis_units)
    first, second = half_rows(len(human), split_count, seed)
    drawn = _drawn(human, first), _drawn(source, second)
    measures = _measures(*drawn, units, is_paired=False)
    if first.shape[1] > human.shape[1]:
        return measures
    return [
        replace(each, draws=np.full_like(each.draws, np.nan))
        if each.measure_name in RESTS_ON_VOLUME
        else each
        for each in measures
    ]


def _checked(
    human_points: ArrayLike, story_source_points: ArrayLike, axis_units: ArrayLike
) -> tuple[Values, Values, Units]:
    human = checked_points(human_points, "human_points")
    source = checked_points(story_source_points, "story_source_points")
    units = checked_points(axis_units, "axis_units")
    if human.shape != source.shape or human.shape[1] < 2 or units.shape[1] != human.shape[1]:
        raise CredalSetError(
            "both sets must have one row for each shared prompt, and sets and units the same two "
            f"or three axes, got shapes {human.shape} (human), {source.shape} (story source) and "
            f"{units.shape} (units)."
        )
    return human, source, tuple(map(tuple, units.tolist()))


def _drawn(points: Values, rows: Rows) -> DrawnSet:
    return _drawn_once(points.tobytes(), points.shape, rows.tobytes(), rows.shape)


@lru_cache(maxsize=8)
def _drawn_once(
    point_bytes: bytes, point_shape: tuple[int, int], row_bytes: bytes, row_shape: tuple[int, int]
) -> DrawnSet:
    """Take the draws of one set; the human side meets every story source and is taken once."""
    points = np.frombuffer(point_bytes).reshape(point_shape)
    rows = np.frombuffer(row_bytes, dtype=np.int64).reshape(row_shape)
    drawn = points[rows]
    return DrawnSet(
        points=points,
        rows=rows,
        hulls=hull_batch(points, rows),
        means=drawn.mean(axis=1),
        variances=drawn.var(axis=1),
        ordered=np.sort(drawn, axis=1),
        ranks=np.stack([rankdata(axis, axis=1) for axis in np.moveaxis(drawn, 2, 0)]),
    )


@lru_cache(maxsize=4)
def _measures(
    human: DrawnSet, source: DrawnSet, units: Units, *, is_paired: bool
) -> list[ResampledMeasure]:
    """Every measure in every frame; kept, since the human ceiling is asked for with each set."""
    shared = _frameless_measures(human, source, is_paired=is_paired)
    found = []
    for frame_index, unit in enumerate(np.array(units)):
        if unit.all():
            measures = shared | _lengths(human, source, unit, shared["volume_ratio"])
        else:
            measures = _flattened_measures(human, source, unit, is_paired=is_paired)
        found += [ResampledMeasure(frame_index, *measure) for measure in measures.items()]
    return found


def _flattened_measures(
    human: DrawnSet, source: DrawnSet, unit: Values, *, is_paired: bool
) -> dict[str, Values]:
    """Every measure in a frame that maps an axis to 0, under which hulls lose a dimension."""
    flat_human = _drawn(human.points * unit, human.rows)
    flat_source = _drawn(source.points * unit, source.rows)
    shared = _frameless_measures(flat_human, flat_source, is_paired=is_paired)
    lengths = _lengths(flat_human, flat_source, np.ones(len(unit)), shared["volume_ratio"])
    return shared | lengths


def _frameless_measures(human: DrawnSet, source: DrawnSet, *, is_paired: bool) -> dict[str, Values]:
    """Measures that no common scaling changes, NaN where not defined."""
    pairs = zip(human.hulls.hulls, source.hulls.hulls, strict=True)
    iou = [iou_of_hulls(human.points, first, source.points, second) for first, second in pairs]
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = source.hulls.hull_volumes / human.hulls.hull_volumes
    ratio[human.hulls.hull_volumes == 0.0] = np.nan
    measures = {"iou": np.array(iou), "volume_ratio": ratio}
    if not is_paired:
        return measures
    by_axis = [rank_correlations(*axis) for axis in zip(human.ranks, source.ranks, strict=True)]
    for name, values in zip(AXIS_NAMES, by_axis, strict=False):
        measures[f"diversity_rank_correlation_{name}"] = values
    is_defined = ~np.isnan(by_axis)
    with np.errstate(invalid="ignore"):
        mean = np.nansum(by_axis, axis=0) / is_defined.sum(axis=0)
    return measures | {"diversity_rank_correlation": mean}


def _lengths(human: DrawnSet, source: DrawnSet, unit: Values, ratio: Values) -> dict[str, Values]:
    """Measures in units of one frame."""
    human_variances, source_variances = human.variances * unit**2, source.variances * unit**2
    both = np.concatenate([human_variances, source_variances], axis=1)
    distances = _between_corners(human, source, unit)
    overlap = _overlaps(human, source, distances, 0.5 * np.sqrt(both).mean(axis=1))
    gaps = (human.means - source.means) * unit
    centroid_distance = np.sqrt((gaps * gaps).sum(axis=1))
    with np.errstate(divide="ignore"):
        likeness = np.where(ratio == 0.0, 0.0, np.minimum(ratio, 1.0 / ratio))
    wasserstein = np.abs(human.ordered - source.ordered).mean(axis=1) * unit
    return {
        "overlap_calibration": overlap,
        "overlap_calibration_half_mean_variance": _overlaps(
            human, source, distances, 0.5 * both.mean(axis=1)
        ),
        "overlap_calibration_fixed_1": _overlaps(human, source, distances, np.ones(len(both))),
        "centroid_distance": centroid_distance,
        "composite_calibration": OVERLAP_WEIGHT * overlap
        + DISTANCE_WEIGHT / (1.0 + centroid_distance)
        + VOLUME_WEIGHT * likeness,
        "hausdorff_distance": _hausdorff(human, source, unit),
        "hull_volume": source.hulls.hull_volumes * unit.prod(),
        "hausdorff_vertex_distance": np.maximum(
            distances.min(axis=1).max(axis=1), distances.min(axis=2).max(axis=1)
        ),
        **{
            f"wasserstein_{name}": values
            for name, values in zip(AXIS_NAMES, wasserstein.T, strict=False)
        },
        "wasserstein_mean": wasserstein.mean(axis=1),
    }


def _between_corners(human: DrawnSet, source: DrawnSet, unit: Values) -> Values:
    """Distances of the corners, shape (draws, story source, human), padding included."""
    return vertex_distances(
        (source.points * unit)[source.hulls.corners], (human.points * unit)[human.hulls.corners]
    )


def _overlaps(human: DrawnSet, source: DrawnSet, distances: Values, threshold: Values) -> Values:
    near = distances < threshold[:, None, None]
    shares = [
        (near.any(axis=axis) & hulls.is_corner).sum(axis=1) / hulls.is_corner.sum(axis=1)
        for axis, hulls in ((2, source.hulls), (1, human.hulls))
    ]
    overlap: Values = 0.5 * (shares[0] + shares[1])
    return overlap


def _hausdorff(human: DrawnSet, source: DrawnSet, unit: Values) -> Values:
    """Exact Hausdorff distances, as `udfs.polytopes.hausdorff_distance`."""
    directed = []
    for one, other in ((human, source), (source, human)):
        corners = (one.points * unit)[one.hulls.corners]
        triangles = (other.points * unit)[other.hulls.triangles]
        directed.append(farthest_from(corners, triangles, _half_spaces(other, unit)))
    return np.maximum(*directed)


def _half_spaces(drawn: DrawnSet, unit: Values) -> list[Values]:
    """Half-spaces in units of the frame; none in a frame that flattens an axis, or in two axes.

    In two axes the triangles cover the polygon itself, so what is inside is at distance 0 anyway.
    """
    if drawn.points.shape[1] == 2 or not unit.all():
        return [np.empty((0, drawn.points.shape[1] + 1))] * len(drawn.hulls.hulls)
    scale = np.append(1.0 / unit, 1.0)
    return [hull.equations * scale for hull in drawn.hulls.hulls]
