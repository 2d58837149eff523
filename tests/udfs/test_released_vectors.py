"""Figures that the released vectors of GCV must give, and its printed Table 2."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from udfs.credal_overlaps import composite_calibration, credal_overlap
from udfs.credal_sets import credal_set
from udfs.frames import axis_scale
from udfs.polytopes import (
    hausdorff_distance,
    hausdorff_vertex_distance,
    intersection_over_union,
)

pytestmark = pytest.mark.shared_data

AXES = ("semantic_diversity", "lexical_diversity", "syntactic_diversity")
Vectors = dict[str, np.ndarray]


@pytest.fixture(scope="module")
def vectors(shared_data: Path) -> Vectors:
    """Diversity vectors by story source, shape (500, 3) each, human once."""
    with (shared_data / "uncertain_human" / "uncertainty_analysis.csv").open() as file:
        rows = list(csv.DictReader(file))
    human = {row["prompt_id"]: [float(row[f"human_{axis}"]) for axis in AXES] for row in rows}
    sources: dict[str, list[list[float]]] = {"human": list(human.values())}
    for row in rows:
        name = f"{row['model']}/{row['strategy']}"
        sources.setdefault(name, []).append([float(row[f"model_{axis}"]) for axis in AXES])
    return {name: np.array(values) for name, values in sources.items()}


@pytest.fixture(scope="module")
def pooled_z(vectors: Vectors) -> Vectors:
    """The same under the scale of the human set once and all 20 configurations."""
    scales = [axis_scale(axis) for axis in np.vstack(list(vectors.values())).T]
    mean, sd = [scale.mean for scale in scales], [scale.sd for scale in scales]
    return {name: (values - mean) / sd for name, values in vectors.items()}


def test_human_means(vectors: Vectors) -> None:
    expected = [0.64549199726, 0.89766576349, 0.9998]
    assert vectors["human"].mean(axis=0) == pytest.approx(expected, abs=5e-12)


def test_human_hulls(vectors: Vectors, pooled_z: Vectors) -> None:
    raw = credal_set(vectors["human"])
    assert raw.hull_volume == pytest.approx(7.150963593e-4, abs=5e-14)
    assert raw.vertex_count == 10
    assert credal_set(pooled_z["human"]).hull_volume == pytest.approx(0.1302762078, abs=5e-11)
    flat = credal_set(pooled_z["human"][:, :2])
    assert flat.hull_measure == pytest.approx(1.371645042, abs=5e-10)
    assert flat.vertex_count == 9


def test_no_frame_changes_which_prompts_are_vertices(vectors: Vectors, pooled_z: Vectors) -> None:
    """Frames are affine maps, so vertices are the same prompts in all of them."""
    human_scales = [axis_scale(axis) for axis in vectors["human"].T]
    for name, raw in vectors.items():
        own_scales = [axis_scale(axis) for axis in raw.T]
        frames = [raw, pooled_z[name]] + [
            (raw - [scale.mean for scale in scales]) / [scale.sd or 1.0 for scale in scales]
            for scales in (human_scales, own_scales)
        ]
        for axes in (2, 3):
            places = set()
            for frame in frames:
                corners = set(credal_set(frame[:, :axes]).vertices)
                is_corner = [tuple(point) in corners for point in frame[:, :axes].tolist()]
                places.add(tuple(map(tuple, raw[is_corner].tolist())))
            assert len(places) == 1, (name, axes)


def test_exactly_three_configurations_are_flat(pooled_z: Vectors) -> None:
    sets = {name: credal_set(values) for name, values in pooled_z.items()}
    flat = {name for name, found in sets.items() if found.is_degenerate}
    assert flat == {"GPT2-XL/top_k_40", "Gemma-2B/temperature_1.2", "Gemma-2B/top_k_40"}
    assert {sets[name].hull_rank for name in flat} == {2}
    assert {sets[name].hull_volume for name in flat} == {0.0}


def test_comparison_of_gpt2_xl_at_temperature_0_7(pooled_z: Vectors) -> None:
    source = pooled_z["GPT2-XL/temperature_0.7"]
    found = credal_overlap(pooled_z["human"], source)
    assert credal_set(source).hull_volume == pytest.approx(0.324581793, abs=5e-10)
    assert found.overlap_calibration == pytest.approx(0.0954545, abs=5e-8)
    assert found.overlap_threshold == pytest.approx(0.0838763978, abs=5e-11)
    assert found.centroid_distance == pytest.approx(0.440734946, abs=5e-10)


def test_polytopes_of_gpt2_xl_at_temperature_0_7(pooled_z: Vectors) -> None:
    human, source = pooled_z["human"], pooled_z["GPT2-XL/temperature_0.7"]
    assert intersection_over_union(human, source).iou == pytest.approx(0.232791145, abs=5e-10)
    flat = intersection_over_union(human[:, :2], source[:, :2])
    assert flat.iou == pytest.approx(0.475173538, abs=5e-10)
    sets = credal_set(human), credal_set(source)
    assert hausdorff_distance(*sets) == pytest.approx(0.486961716, abs=5e-10)
    assert hausdorff_vertex_distance(*sets) == pytest.approx(0.605104270, abs=5e-10)


def test_composite_gives_all_ten_rows_of_table_2(shared_data: Path) -> None:
    with (shared_data / "published" / "gcv_table2.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 10
    for row in rows:
        found = composite_calibration(
            float(row["overlap"]), float(row["centroid_distance"]), float(row["volume_ratio"])
        )
        # 0.0006: the inputs are printed to three decimals.
        assert found == pytest.approx(float(row["overall_calibration"]), abs=6e-4)
