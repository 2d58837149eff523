"""Figures that released predictions of classifiers must give."""

from __future__ import annotations

import csv
import gzip
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from udfs.loss_curves import ExactRows, SketchedRows
from udfs.reliability import ece_plugin
from udfs.reliability_bins import FINE_BIN_COUNT, reliability_bins, rolled_up
from udfs.temperature import fit_temperature
from udfs.temperature_sketch import temperature_sketch

pytestmark = pytest.mark.shared_data

SOFTMAX_SETS = {
    "lenet-5-cifar-10.npz": ("predictions", "ground_truth"),
    "cifar_probs.npz": ("probs", "labels"),
}


def softmax_rows(shared_data: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(shared_data / "calibration" / "softmax" / name) as arrays:
        rows, labels = (arrays[key] for key in SOFTMAX_SETS[name])
    return rows, labels.astype(np.int64)


@pytest.mark.parametrize(
    ("name", "token_count", "accuracy", "ece"),
    [
        # Computed elsewhere with (lo, hi] bins. The second tells bin-edge bugs apart.
        ("markus93__probs_resnet110_c10_logits", 10_000, 0.9356, 0.047503524),
        ("markus93__probs_resnet50_birds_logits", 2_897, 0.731446, 0.023534988),
    ],
)
def test_top_label_predictions(
    shared_data: Path, name: str, token_count: int, accuracy: float, ece: float
) -> None:
    path = shared_data / "calibration" / "top_label" / f"{name}.csv.gz"
    with gzip.open(path, "rt") as file:
        rows = list(csv.DictReader(file))
    hits = [row["true_label"] == row["pred_label"] for row in rows]
    confidence = [float(row["confidence"]) for row in rows]
    assert len(rows) == token_count
    assert np.mean(hits) == pytest.approx(accuracy, abs=5e-7)
    assert ece_plugin(reliability_bins(confidence, hits, 15)) == pytest.approx(ece, abs=5e-10)
    fine = reliability_bins(confidence, hits, FINE_BIN_COUNT)
    assert ece_plugin(rolled_up(fine, 15)) == pytest.approx(ece, abs=5e-10)


@pytest.mark.parametrize(
    ("name", "ece"), [("lenet-5-cifar-10.npz", 0.10788788), ("cifar_probs.npz", 0.03978007)]
)
def test_softmax_predictions(shared_data: Path, name: str, ece: float) -> None:
    rows, labels = softmax_rows(shared_data, name)
    hits = rows.argmax(axis=1) == labels
    assert ece_plugin(reliability_bins(rows.max(axis=1), hits, 15)) == pytest.approx(ece, abs=5e-9)


@pytest.mark.parametrize("name", list(SOFTMAX_SETS))
def test_temperatures_are_those_of_a_bounded_search(shared_data: Path, name: str) -> None:
    rows, labels = softmax_rows(shared_data, name)
    with np.errstate(divide="ignore"):
        logs = np.log(rows.astype(np.float64))
    fit = fit_temperature(ExactRows(logs, labels))
    own = logs[np.arange(len(labels)), labels]

    def loss(beta: float) -> float:
        return float(np.mean(logsumexp(beta * logs, axis=1) - beta * own))

    found = minimize_scalar(loss, bounds=(0.1, 5.0), method="bounded", options={"xatol": 1e-12})
    assert fit.inverse_temperature == pytest.approx(found.x, abs=1e-6)
    assert abs(fit.gradient) < 1e-10
    sketched = fit_temperature(SketchedRows(temperature_sketch(logs), own))
    assert sketched.fitted_temperature == pytest.approx(fit.fitted_temperature, abs=1e-4)
