"""Comparison of a story source's credal set with the human one: GCV's measures, exactly."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial.distance import cdist

from udfs.credal_sets import CredalSetError, checked_points, credal_set
from udfs.frames import axis_scale
from udfs.polytopes import (
    IouStatus,
    hausdorff_distance,
    hausdorff_vertex_distance,
    intersection_over_union,
)

OVERLAP_WEIGHT, DISTANCE_WEIGHT, VOLUME_WEIGHT = 0.4, 0.3, 0.3
"""Weights of the composite. GCV never prints them: they reproduce all ten rows of its Table 2."""


@dataclass(frozen=True)
class CredalOverlap:
    """One comparison; every length is in units of the coordinate frame.

    Attributes
    ----------
    overlap_calibration : float
        Vertex overlap, in [0, 1]; near is less than half the mean standard deviation over axes and
        the two sets (rule ``half_mean_sd``).
    overlap_threshold : float
        The distance it used.
    overlap_calibration_half_mean_variance, overlap_threshold_half_mean_variance : float
        The same with half the mean variance, GCV's words read literally.
    overlap_calibration_fixed_1 : float
        The same with 1, as the code published with GCV has it.
    centroid_distance : float
        Distance of the means of all points (not of the hulls' vertices), at least 0.
    volume_ratio : float or None
        Story source's full-dimensional measure over the human one; 0 where only the story source
        is flat, None where the human set is.
    composite_calibration : float or None
        GCV's headline score, in [0, 1]; None without a volume ratio.
    iou : float
        Exact intersection over union of the two hulls, in [0, 1].
    iou_status : IouStatus
        Why it is what it is; a 0 always has its reason.
    hausdorff_distance : float
        Exact: the farthest point of either hull from the other, at least 0.
    hausdorff_vertex_distance : float
        The same between the vertices alone, never below the exact one.
    """

    overlap_calibration: float
    overlap_threshold: float
    overlap_calibration_half_mean_variance: float
    overlap_threshold_half_mean_variance: float
    overlap_calibration_fixed_1: float
    centroid_distance: float
    volume_ratio: float | None
    composite_calibration: float | None
    iou: float
    iou_status: IouStatus
    hausdorff_distance: float
    hausdorff_vertex_distance: float


def credal_overlap(human_points: ArrayLike, story_source_points: ArrayLike) -> CredalOverlap:
    """Compare the credal set of *story_source_points* with that of *human_points* [1]_.

    Parameters
    ----------
    human_points, story_source_points : array_like of float, shape (n, axes)
        Diversity vectors in one common coordinate frame, the same axes in both; in the frame
        `self_z` each set has its own scale and centroids coincide by construction.

    Returns
    -------
    CredalOverlap

    Raises
    ------
    CredalSetError
        The sets have different axes, or see `udfs.credal_sets.checked_points`.

    References
    ----------
    .. [1] *The Geometry of Creative Variability*, section 3.6; the composite is reconstructed from
       its Table 2.

    Examples
    --------
    >>> square = [[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]]
    >>> same = credal_overlap(square, square)
    >>> same.overlap_calibration, same.overlap_threshold, same.composite_calibration
    (1.0, 0.25, 1.0)
    """
    human = checked_points(human_points, "human_points")
    source = checked_points(story_source_points, "story_source_points")
    if human.shape[1] != source.shape[1]:
        raise CredalSetError(
            "both sets must have the same axes, "
            f"got {human.shape[1]} (human) and {source.shape[1]} (story source)."
        )
    human_set, source_set = credal_set(human), credal_set(source)
    human_scales = [axis_scale(axis) for axis in human.T]
    source_scales = [axis_scale(axis) for axis in source.T]
    sds = [scale.sd for scale in human_scales + source_scales]
    half_mean_sd = 0.5 * math.fsum(sds) / len(sds)
    half_mean_variance = 0.5 * math.fsum(sd * sd for sd in sds) / len(sds)
    distances = cdist(np.array(source_set.vertices), np.array(human_set.vertices))
    ratio = None if human_set.is_degenerate else source_set.hull_volume / human_set.hull_volume
    overlap = vertex_overlap(distances, half_mean_sd)
    distance = math.dist(
        [scale.mean for scale in human_scales], [scale.mean for scale in source_scales]
    )
    shared = intersection_over_union(human, source)
    return CredalOverlap(
        overlap_calibration=overlap,
        overlap_threshold=half_mean_sd,
        overlap_calibration_half_mean_variance=vertex_overlap(distances, half_mean_variance),
        overlap_threshold_half_mean_variance=half_mean_variance,
        overlap_calibration_fixed_1=vertex_overlap(distances, 1.0),
        centroid_distance=distance,
        volume_ratio=ratio,
        composite_calibration=None
        if ratio is None
        else composite_calibration(overlap, distance, ratio),
        iou=shared.iou,
        iou_status=shared.iou_status,
        hausdorff_distance=hausdorff_distance(human_set, source_set),
        hausdorff_vertex_distance=hausdorff_vertex_distance(human_set, source_set),
    )


def vertex_overlap(distances: NDArray[np.float64], threshold: float) -> float:
    """Mean share of vertices strictly closer than *threshold* to one of the other set.

    Parameters
    ----------
    distances : ndarray of float, shape (story source vertices, human vertices)
    threshold : float
        In the same units; a vertex exactly that far away does not count.

    Examples
    --------
    >>> vertex_overlap(np.array([[0.5, 2.0], [1.0, 2.0]]), 1.0)
    0.5
    """
    near = distances < threshold
    return 0.5 * (float(near.any(axis=1).mean()) + float(near.any(axis=0).mean()))


def composite_calibration(overlap: float, centroid_distance: float, volume_ratio: float) -> float:
    """GCV's headline score from its parts: 0.4·overlap + 0.3/(1 + distance) + 0.3·min(r, 1/r).

    Parameters
    ----------
    overlap : float
        Vertex overlap, in [0, 1].
    centroid_distance : float
        At least 0.
    volume_ratio : float
        r, at least 0; a flat story source has 0 and gains nothing from its volume.

    Returns
    -------
    float
        In [0, 1]; 1 only for a set that lies on the human one.

    Examples
    --------
    >>> composite_calibration(0.0, 1.0, 0.0)
    0.15
    """
    likeness = min(volume_ratio, 1.0 / volume_ratio) if volume_ratio > 0.0 else 0.0
    return (
        OVERLAP_WEIGHT * overlap
        + DISTANCE_WEIGHT / (1.0 + centroid_distance)
        + VOLUME_WEIGHT * likeness
    )
