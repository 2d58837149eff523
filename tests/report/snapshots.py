"""Snapshots for the report: the small study's, with token calibration written in by hand."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import duckdb

from warehouse.connection import snapshot_path

STUDY = "small_study"
FILLED = {"VARCHAR": "none", "DOUBLE": 0.5, "INTEGER": 1, "BIGINT": 1, "BOOLEAN": True}
"""What a column that a test does not name holds, by type."""

SCORED = {"study_name": STUDY, "test_set_name": "held", "language_model_name": "net"}
TEMPERATURES = (0.5, 1.0, 2.0)
BIN_COUNTS = (5, 15)


def copied_home(home: Path, target: Path) -> Path:
    """Return a home with a copy of the snapshot of *home* that a test may write."""
    target.mkdir()
    copy = Path(shutil.copyfile(snapshot_path(home), snapshot_path(target)))
    copy.chmod(0o644)
    return target


def write(home: Path, *statements: str) -> None:
    """Run *statements* on the snapshot of *home*."""
    with duckdb.connect(str(snapshot_path(home))) as connection:
        connection.execute("set search_path = 'marts'")
        for statement in statements:
            connection.execute(statement)


def insert(connection: duckdb.DuckDBPyConnection, mart: str, row: dict[str, Any]) -> None:
    """Insert *row*, filling the columns that it does not name."""
    columns = connection.execute(
        "select column_name, data_type from duckdb_columns() "
        "where schema_name = 'marts' and table_name = $mart order by column_index",
        {"mart": mart},
    ).fetchall()
    values = [row.get(name, FILLED.get(kind)) for name, kind in columns]
    places = ", ".join("?" for _ in values)
    connection.execute(f"insert into marts.{mart} values ({places})", values)  # noqa: S608


def add_token_calibration(home: Path) -> None:
    """Write one scored test set: every value of it is unlike every other."""
    with duckdb.connect(str(snapshot_path(home))) as connection:
        insert(connection, "dim_test_sets", SCORED | {"test_set_kind": "text"})
        for bin_count in BIN_COUNTS:
            errors = {"bin_count": bin_count, "token_count": 1000, "accuracy": 1 / 3}
            insert(
                connection,
                "fct_calibration_errors",
                SCORED | errors | {"binning": "equal_width", "ece_plugin": 0.1 / bin_count},
            )
            for temperature in TEMPERATURES:
                curve = {"applied_temperature": temperature, "ece_plugin": temperature / 7}
                insert(connection, "fct_temperature_curves", SCORED | errors | curve)
                for bin_index in range(bin_count):
                    _add_bin(connection, temperature, bin_count, bin_index)
        fit = {"token_group": "all", "fold_name": "all", "fit_status": "no_finite_optimum"}
        insert(connection, "fct_temperature_fits", SCORED | fit | {"fitted_temperature": None})
        for regime in ("never", "once"):
            insert(connection, "fct_fact_regimes", SCORED | {"regime": regime})
        for label in ("the", "</b><b>"):
            insert(
                connection,
                "fct_confidence_breakdowns",
                SCORED | {"breakdown_name": "top_label", "class_name": label},
            )


def _add_bin(
    connection: duckdb.DuckDBPyConnection, temperature: float, bin_count: int, bin_index: int
) -> None:
    middle = (bin_index + 0.5) / bin_count
    row = SCORED | {
        "bin_count": bin_count,
        "bin_index": bin_index,
        "lower_edge": bin_index / bin_count,
        "upper_edge": (bin_index + 1) / bin_count,
        "token_count": 10 + bin_index,
        "hit_count": 3,
        "mean_confidence": middle,
        "accuracy": middle / temperature / 2,
        "binning": "equal_width",
    }
    if temperature == 1.0:
        insert(connection, "fct_reliability_bins", row)
    tempered = row | {"applied_temperature": temperature}
    insert(connection, "fct_tempered_reliability_bins", tempered)
