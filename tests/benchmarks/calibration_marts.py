"""Bins, errors and twins of 10⁷ made-up tokens in DuckDB, and a fit to 10⁶ sketched ones.

The SQL is the project's own, its equal-width half; beside it one numpy pass over the same tokens
and three histogram passes, which stand in for netcal's ECE (netcal itself is not installed here).
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import jinja2
import numpy as np
import yaml
from numpy.typing import NDArray

from udfs.loss_curves import SketchedRows
from udfs.registry import register_all
from udfs.temperature import fit_temperature
from udfs.temperature_sketch import temperature_sketch

DBT_PROJECT = Path(__file__).resolve().parents[2] / "dbt_project"
CHAIN = (
    "int_fine_bins_counted",
    "int_reliability_bins_rolled_up",
    "int_twin_deviations_computed",
    "int_calibration_errors_summed",
)
MACROS = ("bin_index", "fixed_point")
TOKENS, SKETCHED_TOKENS, OUTCOMES = 10_000_000, 1_000_000, 8
ROUNDS = 3
MOST_OF_NUMPY, MOST_OF_HISTOGRAMS, MOST_SECONDS = 2.0, 0.2, 5.0
PLACED_TOKENS = (
    "create or replace table int_token_bins_placed as select 'one' as scoring_id, "
    "scoring_index, confidence, is_hit, "
    "cast({{ bin_index('confidence', var('fine_bin_count')) }} as smallint) "
    "as equal_width_bin_index from tokens"
)
BIN_COUNTS = [1, 2, 4, 5, 8, 10, 15, 16, 30, 32, 60, 64]


def rendered(name: str, variables: dict[str, Any]) -> str:
    """Return the SQL of an intermediate model on tables of its name."""
    (path,) = (DBT_PROJECT / "models").rglob(f"{name}.sql")
    text = path.read_text().replace("['equal_width', 'equal_mass']", "['equal_width']")
    return filled(text, variables)


def filled(text: str, variables: dict[str, Any]) -> str:
    macros = "".join((DBT_PROJECT / "macros" / f"{name}.sql").read_text() for name in MACROS)
    environment = jinja2.Environment(autoescape=False)  # noqa: S701 - SQL, not HTML
    return environment.from_string(macros + text).render(
        ref=lambda table: table, var=variables.__getitem__, config=lambda **_: ""
    )


def fastest(work: Callable[[], object]) -> float:
    seconds = []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        work()
        seconds.append(time.perf_counter() - started)
    return min(seconds)


def numpy_pass(confidence: NDArray[np.float64], is_hit: NDArray[np.bool_]) -> float:
    """One ECE of 15 bins by counting."""
    index = np.clip(np.ceil(confidence * 15).astype(np.int64) - 1, 0, 14)
    hits = np.bincount(index, weights=is_hit, minlength=15)
    sums = np.bincount(index, weights=confidence, minlength=15)
    return float(np.abs(hits - sums).sum() / np.bincount(index, minlength=15).sum())


def histogram_passes(confidence: NDArray[np.float64], is_hit: NDArray[np.bool_]) -> float:
    """One ECE of 15 bins by three histograms with given edges."""
    edges = np.linspace(0.0, 1.0, 16)
    samples = confidence[:, None]
    counts, hits, sums = (
        np.histogramdd(samples, bins=[edges], weights=weights)[0]
        for weights in (None, is_hit.astype(np.float64), confidence)
    )
    return float(np.abs(hits - sums).sum() / counts.sum())


def bins_are_fast() -> bool:
    rng = np.random.default_rng(20240)
    confidence = rng.beta(2.0, 1.5, size=TOKENS)
    is_hit = rng.random(TOKENS) < confidence
    variables = yaml.safe_load((DBT_PROJECT / "dbt_project.yml").read_text())["vars"]
    variables["bin_counts"] = BIN_COUNTS
    with duckdb.connect() as connection:
        register_all(connection)
        connection.register("arrays", {"confidence": confidence, "is_hit": is_hit})
        connection.execute(
            "create table tokens as select cast(0 as integer) as scoring_index, * from arrays"
        )
        connection.execute(
            "create table int_scorings_numbered as select 'one' as scoring_id, 0 as scoring_index"
        )
        placing = fastest(lambda: connection.execute(filled(PLACED_TOKENS, variables)))

        def build() -> None:
            for name in CHAIN:
                connection.execute(f"create or replace table {name} as {rendered(name, variables)}")

        ours = fastest(build)
        row = connection.execute(
            "select surplus_sum / token_count from int_calibration_errors_summed "
            "where bin_count = 15"
        ).fetchone()
    assert row is not None
    assert abs(row[0] - numpy_pass(confidence, is_hit)) < 1e-9
    counted = fastest(lambda: numpy_pass(confidence, is_hit))
    histograms = fastest(lambda: histogram_passes(confidence, is_hit))
    sys.stdout.write(
        f"{TOKENS:,} tokens, {len(BIN_COUNTS)} bin counts with twins: {ours:.2f} s (placing the "
        f"tokens in fine bins, once for all: {placing:.2f} s); one numpy "
        f"pass {counted:.2f} s, ratio {ours / counted:.2f} (at most {MOST_OF_NUMPY}); three "
        f"histograms {histograms:.2f} s, ratio {ours / histograms:.2f} (netcal stand-in; at most "
        f"{MOST_OF_HISTOGRAMS} of netcal)\n"
    )
    return ours <= MOST_OF_NUMPY * counted


def fits_are_fast() -> bool:
    rng = np.random.default_rng(20240)
    logits = rng.normal(size=(SKETCHED_TOKENS, OUTCOMES)).astype(np.float32) * 3.0
    logs = logits - np.log(np.exp(logits).sum(axis=1, keepdims=True))
    own = logs[np.arange(SKETCHED_TOKENS), rng.integers(0, 2, SKETCHED_TOKENS)].astype(np.float64)
    sketch = np.concatenate([temperature_sketch(part) for part in np.array_split(logs, 20)])
    seconds = fastest(lambda: fit_temperature(SketchedRows(sketch, own)))
    sys.stdout.write(
        f"{SKETCHED_TOKENS:,} sketches: fit {seconds:.2f} s (at most {MOST_SECONDS})\n"
    )
    return seconds <= MOST_SECONDS


def main() -> int:
    results = [bins_are_fast(), fits_are_fast()]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
