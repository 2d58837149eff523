"""Claims about the calibration marts, built by dbt from forecasts as they are ingested."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray

from flows.corpora.layouts import ForecastsLayout
from flows.ingest_forecasts import ingest_forecasts
from flows.study import new_study
from tests.dbt.conftest import Dbt
from udfs.document_bootstrap import bootstrap_calibration_errors, bootstrap_ratio
from udfs.reliability import (
    ece_plugin,
    mce,
    reliability_debiased,
    reliability_plugin,
    singleton_token_share,
)
from udfs.reliability_bins import (
    ReliabilityBins,
    bin_index,
    equal_mass_bins,
    reliability_bins,
)
from udfs.twins import calibrated_twin
from warehouse.connection import open_warehouse

Binned = tuple[ReliabilityBins, NDArray[np.int64]]

BIN_COUNTS = (1, 2, 4, 5, 8, 10, 15, 16, 30, 32, 60, 64, 960)
CASES = {
    "ends": ([0.95, 1.0], [1, 0]),
    "sure": ([1.0, 1.0, 1.0], [0, 0, 0]),
    "zero": ([0.0], [1]),
    "rejected": ([0.5, float("nan"), 0.5], [1, 1, 0]),
    "alike": ([0.7] * 10, [1, 1, 1, 0, 0, 0, 0, 0, 0, 0]),
}


def edges() -> tuple[list[float], list[int]]:
    """Every edge of 960 bins and both its neighbours, half of them hits, many to a bin."""
    found = np.arange(961) / 960
    values = np.concatenate([found, np.nextafter(found, 0), np.nextafter(found, 1)]).clip(0, 1)
    rng = np.random.default_rng(7)
    values = np.concatenate([values, rng.beta(4, 1, size=6_000)])
    return values.tolist(), (rng.random(len(values)) < values).astype(int).tolist()


def write(folder: Path, name: str, confidence: list[float], hits: list[int]) -> None:
    lines = [f"{hit},1,{value!r}" for value, hit in zip(confidence, hits, strict=True)]
    (folder / f"{name}.csv").write_text("true_label,pred_label,confidence\n" + "\n".join(lines))


@pytest.fixture(scope="module")
def forecasts(tmp_path_factory: pytest.TempPathFactory, dbt: Dbt) -> Path:
    folder = tmp_path_factory.mktemp("forecasts")
    inputs = folder / "inputs"
    inputs.mkdir()
    for name, (confidence, hits) in (CASES | {"edges": edges()}).items():
        write(inputs, name, confidence, hits)
    work_file = folder / "work.duckdb"
    with open_warehouse(work_file) as connection:
        ingest_forecasts(connection, new_study("made"), ForecastsLayout(str(inputs)))
    dbt(work_file, "build", "--select", "+fct_reliability_bins", "+fct_calibration_errors")
    return work_file


@pytest.fixture
def errors(forecasts: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect(forecasts, read_only=True) as connection:
        yield connection


@pytest.mark.parametrize(
    ("name", "ece", "token_count", "rejected_count", "occupied_bin_count"),
    [("ends", 0.475, 2, 0, 1), ("sure", 1.0, 3, 0, 1), ("zero", 1.0, 1, 0, 1),
     ("rejected", 0.0, 2, 1, 1)],
)  # fmt: skip
def test_ends_of_the_unit_interval_and_rejects(
    errors: duckdb.DuckDBPyConnection,
    name: str,
    ece: float,
    token_count: int,
    rejected_count: int,
    occupied_bin_count: int,
) -> None:
    row = errors.execute(
        "select ece_plugin, token_count, rejected_count, occupied_bin_count, log_loss_nats "
        "from marts.fct_calibration_errors where language_model_name = $name and bin_count = 10 "
        "and binning = 'equal_width'",
        {"name": name},
    ).fetchone()
    assert row == (pytest.approx(ece, abs=1e-14), token_count, rejected_count,
                   occupied_bin_count, None)  # fmt: skip


def equal_width(confidence: list[float], hits: list[int], bin_count: int) -> Binned:
    return reliability_bins(confidence, hits, bin_count), bin_index(confidence, bin_count)


def equal_mass(confidence: list[float], hits: list[int], bin_count: int) -> Binned:
    """Bins of Python, and every token's place by the definition: edges that lie below it."""
    ordered = sorted(confidence)
    edges = [ordered[-(-k * len(ordered) // bin_count) - 1] for k in range(1, bin_count)]
    places = [sum(edge < value for edge in edges) for value in confidence]
    return equal_mass_bins(confidence, hits, bin_count), np.array(places)


@pytest.mark.parametrize("bin_count", BIN_COUNTS)
@pytest.mark.parametrize("binning", [equal_width, equal_mass])
def test_bins_and_errors_are_those_of_python_on_every_edge(
    errors: duckdb.DuckDBPyConnection,
    binning: Callable[[list[float], list[int], int], Binned],
    bin_count: int,
) -> None:
    confidence, hits = edges()
    expected, index = binning(confidence, hits, bin_count)
    bound = {"bin_count": bin_count, "binning": binning.__name__}
    rows = errors.execute(
        "select token_count, hit_count, confidence_sum from marts.fct_reliability_bins "
        "where language_model_name = 'edges' and bin_count = $bin_count and binning = $binning "
        "order by bin_index",
        bound,
    ).fetchall()
    assert [row[0] for row in rows] == expected.token_count.tolist()
    assert [row[1] for row in rows] == expected.hit_count.tolist()
    assert [row[2] for row in rows] == pytest.approx(expected.confidence_sum, rel=1e-12)
    values = np.array(confidence)
    twin = calibrated_twin([values[index == place] for place in range(bin_count)])
    found = errors.execute(
        "select ece_plugin, reliability_plugin, reliability_debiased, singleton_token_share, mce, "
        "twin_ece_mean, twin_ece_sd from marts.fct_calibration_errors "
        "where language_model_name = 'edges' and bin_count = $bin_count and binning = $binning",
        bound,
    ).fetchone()
    assert found == pytest.approx(
        (
            ece_plugin(expected),
            reliability_plugin(expected),
            reliability_debiased(expected),
            singleton_token_share(expected),
            mce(expected),
            twin.twin_ece_mean,
            twin.twin_ece_sd,
        ),
        rel=1e-9,
        abs=1e-12,
    )


def test_equal_confidences_fill_one_equal_mass_bin(errors: duckdb.DuckDBPyConnection) -> None:
    row = errors.execute(
        "select ece_plugin, occupied_bin_count, token_count from marts.fct_calibration_errors "
        "where language_model_name = 'alike' and bin_count = 4 and binning = 'equal_mass'"
    ).fetchone()
    assert row == (pytest.approx(0.4, abs=1e-14), 1, 10)


@pytest.mark.parametrize("binning", [equal_width, equal_mass])
def test_intervals_of_imported_forecasts_resample_the_forecasts(
    errors: duckdb.DuckDBPyConnection,
    binning: Callable[[list[float], list[int], int], Binned],
) -> None:
    confidence, hits = edges()
    count = len(hits)
    _, fine = binning(confidence, hits, 960)
    # Read in order, token by token: one row of sums each.
    expected = bootstrap_calibration_errors(
        range(count), fine, [1] * count, hits, confidence, [15], 300, 20240
    )[0]
    mean = bootstrap_ratio(confidence, [1.0] * count, 300, 20240)
    found = errors.execute(
        "select ece_plugin_low, ece_plugin_high, reliability_debiased_low, "
        "reliability_debiased_high, mean_confidence_low, mean_confidence_high, "
        "resampled_unit_count, replicate_count, bootstrap_seed, log_loss_nats_low "
        "from marts.fct_calibration_errors "
        "where language_model_name = 'edges' and bin_count = 15 and binning = $binning",
        {"binning": binning.__name__},
    ).fetchone()
    assert found == (
        pytest.approx(expected.ece_plugin_low, abs=1e-12),
        pytest.approx(expected.ece_plugin_high, abs=1e-12),
        pytest.approx(expected.reliability_debiased_low, abs=1e-12),
        pytest.approx(expected.reliability_debiased_high, abs=1e-12),
        pytest.approx(mean.low, abs=1e-12),
        pytest.approx(mean.high, abs=1e-12),
        count, 300, 20240, None,
    )  # fmt: skip


def test_one_forecast_has_no_interval(errors: duckdb.DuckDBPyConnection) -> None:
    rows = errors.execute(
        "select distinct resampled_unit_count, ece_plugin_low, accuracy_high "
        "from marts.fct_calibration_errors where language_model_name = 'zero'"
    ).fetchall()
    assert rows == [(1, None, None)]


def test_every_confidence_lies_between_the_edges_of_its_bin_and_bins_leave_no_hole(
    errors: duckdb.DuckDBPyConnection,
) -> None:
    rows = errors.execute(
        "select count(*), count(*) filter (where lower_edge = previous_edge), "
        "count(*) filter (where token_count = 0 or mean_confidence <= upper_edge + 1e-12 "
        "and (mean_confidence > lower_edge - 1e-12 or bin_index = 0)), "
        "min(lower_edge), max(upper_edge) "
        "from (select *, coalesce(lag(upper_edge) over (partition by language_model_name, "
        "binning, bin_count order by bin_index), 0) as previous_edge "
        "from marts.fct_reliability_bins)"
    ).fetchone()
    count = 2 * (len(CASES) + 1) * sum(BIN_COUNTS)
    assert rows == (count, count, count, 0.0, 1.0)


def test_every_bin_has_a_row_whether_or_not_it_is_empty(errors: duckdb.DuckDBPyConnection) -> None:
    rows = errors.execute(
        "select bin_count, count(*), count(*) filter (where token_count = 0 and gap is null) "
        "from marts.fct_reliability_bins "
        "where language_model_name = 'zero' and binning = 'equal_width' "
        "group by bin_count order by bin_count"
    ).fetchall()
    assert rows == [(count, count, count - 1) for count in BIN_COUNTS]


@pytest.mark.shared_data
def test_released_predictions_give_their_figures(
    shared_data: Path, tmp_path: Path, dbt: Dbt
) -> None:
    work_file = tmp_path / "work.duckdb"
    folder = shared_data / "calibration"
    with open_warehouse(work_file) as connection:
        for name in ("top_label", "softmax/lenet-5-cifar-10.npz", "softmax/cifar_probs.npz"):
            ingest_forecasts(connection, new_study("real"), ForecastsLayout(str(folder / name)))
    dbt(work_file, "run", "--select", "+fct_calibration_errors")
    with duckdb.connect(work_file, read_only=True) as connection:
        rows = connection.execute(
            "select language_model_name, ece_plugin, accuracy from marts.fct_calibration_errors "
            "where bin_count = 15 and binning = 'equal_width'"
        ).fetchall()
    found = {name: (ece, accuracy) for name, ece, accuracy in rows}
    assert found["markus93__probs_resnet110_c10_logits"] == pytest.approx(
        (0.047503524, 0.9356), abs=5e-10
    )
    birds = found["markus93__probs_resnet50_birds_logits"]
    assert birds[0] == pytest.approx(0.023534988, abs=5e-10)
    assert birds[1] == pytest.approx(0.731446, abs=5e-7)
    assert found["lenet-5-cifar-10"][0] == pytest.approx(0.10788788, abs=5e-9)
    assert found["cifar_probs"][0] == pytest.approx(0.03978007, abs=5e-9)
