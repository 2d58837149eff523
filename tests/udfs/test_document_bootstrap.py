"""Claims about intervals over resampled documents."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.sparse import csr_matrix

from udfs.document_bootstrap import (
    BootstrapError,
    bootstrap_calibration_errors,
    bootstrap_ratio,
    bootstrap_temperature,
    resampled_sums,
)
from udfs.loss_curves import SketchedRows
from udfs.reliability import ece_plugin, reliability_debiased
from udfs.reliability_bins import FINE_BIN_COUNT, bin_index, reliability_bins
from udfs.temperature import fit_temperature
from udfs.temperature_sketch import temperature_sketch

SEED = 20240


def draws(unit_count: int, replicate_count: int) -> NDArray[np.int64]:
    """The documents of every replicate, as one generator gives them."""
    rng = np.random.default_rng(SEED)
    return np.stack([rng.integers(0, unit_count, size=unit_count) for _ in range(replicate_count)])


def documents(
    rng: np.random.Generator, document_count: int, gap: float
) -> tuple[NDArray[np.int64], NDArray[np.float64], NDArray[np.bool_]]:
    """Document, confidence and hit of tokens whose accuracy is their confidence plus *gap*."""
    sizes = rng.integers(5, 40, size=document_count)
    unit = np.repeat(np.arange(document_count), sizes)
    confidence = rng.choice([0.15, 0.35, 0.55, 0.75], size=len(unit))
    return unit, confidence, rng.random(len(unit)) < confidence + gap


def summed(
    unit: NDArray[np.int64], confidence: NDArray[np.float64], hit: NDArray[np.bool_]
) -> tuple[NDArray[np.float64], ...]:
    """Sums per document and fine bin, by a dictionary."""
    sums: dict[tuple[int, int], list[float]] = {}
    fine = bin_index(confidence, FINE_BIN_COUNT)
    for document, place, value, came in zip(unit, fine, confidence, hit, strict=True):
        row = sums.setdefault((int(document), int(place)), [0.0, 0.0, 0.0])
        row[0] += 1.0
        row[1] += float(came)
        row[2] += float(value)
    keys = np.array(list(sums))
    return keys[:, 0], keys[:, 1], *np.array(list(sums.values())).T


def test_sums_of_a_replicate_are_those_of_its_documents_read_again() -> None:
    sums = np.random.default_rng(1).integers(0, 9, size=(7, 5)).astype(float)
    expected = np.stack([sums[rows].sum(axis=0) for rows in draws(7, 20)])
    np.testing.assert_array_equal(resampled_sums(csr_matrix(sums), 20, SEED), expected)


def test_a_ratio_has_the_percentiles_of_documents_read_again() -> None:
    rng = np.random.default_rng(2)
    count = rng.integers(1, 30, size=11).astype(float)
    value = rng.random(11) * count
    expected = np.quantile(
        [value[rows].sum() / count[rows].sum() for rows in draws(11, 200)], [0.025, 0.975]
    )
    found = bootstrap_ratio(value, count, 200, SEED)
    assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-14)
    assert (found.unit_count, found.replicate_count) == (11, 200)


@pytest.mark.parametrize("bin_count", [1, 15, 960])
def test_errors_have_the_spread_of_documents_binned_again_around_the_estimate(
    bin_count: int,
) -> None:
    unit, confidence, hit = documents(np.random.default_rng(3), 9, 0.1)
    expected = []
    for measure in (ece_plugin, reliability_debiased):
        estimate = measure(reliability_bins(confidence, hit, bin_count))
        again = []
        for rows in draws(9, 100):
            tokens = np.concatenate([np.flatnonzero(unit == row) for row in rows])
            again.append(measure(reliability_bins(confidence[tokens], hit[tokens], bin_count)))
        expected += (np.quantile(again, [0.025, 0.975]) - np.mean(again) + estimate).tolist()
    (found,) = bootstrap_calibration_errors(*summed(unit, confidence, hit), [bin_count], 100, SEED)
    assert (
        found.ece_plugin_low,
        found.ece_plugin_high,
        found.reliability_debiased_low,
        found.reliability_debiased_high,
    ) == pytest.approx(expected, rel=1e-9, abs=1e-12)


def test_the_interval_of_the_debiased_reliability_holds_the_true_one() -> None:
    rng = np.random.default_rng(4)
    for gap, least in ((0.2, 0.9), (0.0, 0.95)):
        covered = []
        for _ in range(150):
            sums = summed(*documents(rng, 40, gap))
            (found,) = bootstrap_calibration_errors(*sums, [20], 100, SEED)
            low, high = found.reliability_debiased_low, found.reliability_debiased_high
            assert low is not None
            assert high is not None
            covered.append(low <= gap * gap <= high)
        # Of 150 worlds: 95 % less three standard errors; without a gap it is wider than it need be.
        assert np.mean(covered) >= least


def test_a_temperature_has_the_percentiles_of_fits_to_documents_read_again() -> None:
    rng = np.random.default_rng(5)
    logits = rng.normal(size=(300, 6)) * 2.0
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    outcome = np.array([rng.choice(6, p=np.exp(row / 1.3) / np.exp(row / 1.3).sum())
                        for row in logs])  # fmt: skip
    own = logs[np.arange(300), outcome]
    sketch = temperature_sketch(logs).astype(float)
    unit = np.repeat(np.arange(10), 30)
    fits = []
    for rows in draws(10, 40):
        tokens = np.concatenate([np.flatnonzero(unit == row) for row in rows])
        fits.append(fit_temperature(SketchedRows(sketch[tokens], own[tokens])).fitted_temperature)
    expected = np.quantile(np.array(fits, dtype=float), [0.025, 0.975])
    by_document = [np.flatnonzero(unit == place) for place in range(10)]
    found = bootstrap_temperature(
        [30.0] * 10,
        [sketch[rows].sum(axis=0) for rows in by_document],
        [own[rows].sum() for rows in by_document],
        40,
        SEED,
    )
    assert (found.low, found.high) == pytest.approx(tuple(expected), rel=1e-8)
    assert found.replicate_count == 40


def test_one_document_has_no_interval() -> None:
    assert bootstrap_ratio([1.0], [2.0], 9, SEED).high is None
    assert bootstrap_temperature([1.0], [[0.0] * 16], [-1.0], 9, SEED).low is None
    (found,) = bootstrap_calibration_errors([4, 4], [1, 2], [1, 1], [0, 1], [0, 0], [15], 9, SEED)
    assert found.ece_plugin_low is None


def test_lists_of_different_lengths_are_refused() -> None:
    with pytest.raises(BootstrapError, match="two lists of one length"):
        bootstrap_ratio([1.0, 2.0], [1.0], 9, SEED)
