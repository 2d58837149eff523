"""Claims about what moved since a publication that the raw rows have by hand."""

from __future__ import annotations

import math
from typing import Any

import duckdb
import pytest
from scipy.stats import norm

from udfs.identity import content_id


def rows(connection: duckdb.DuckDBPyConnection, sql: str, *values: Any) -> list[dict[str, Any]]:
    return connection.execute(sql, list(values)).to_arrow_table().to_pylist()


def test_a_change_is_measured_against_both_intervals(marts: duckdb.DuckDBPyConnection) -> None:
    (now,) = rows(
        marts,
        "select * from marts.fct_calibration_errors where study_name = 'imported'"
        " and bin_count = 15 and binning = 'equal_width'",
    )
    subject = ("imported", "classifier", None, None, None, None)
    (found,) = rows(
        marts,
        "select * from marts.fct_run_changes where figure_id = ?",
        content_id("imported", "token_mean", "accuracy", *subject),
    )
    # Published earlier: 0.5 with a noise of 0.25, over seven tokens.
    half_width = (now["accuracy_high"] - now["accuracy_low"]) / 2
    unit = math.hypot(half_width / norm.ppf(0.975), 0.25)
    assert found["change_status"] == "other_sample"
    assert (found["earlier_sample_count"], found["sample_count"]) == (7, now["token_count"])
    assert found["figure_change"] == now["accuracy"] - 0.5
    assert found["change_unit"] == pytest.approx(unit, rel=1e-12)
    assert found["change_in_units"] == pytest.approx((now["accuracy"] - 0.5) / unit, rel=1e-12)


def test_other_bins_a_missing_model_and_new_figures_are_told_apart(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    found = rows(
        marts,
        "select distinct change_status, measure_name, binning, language_model_name"
        " from marts.fct_run_changes where study_name = 'imported'"
        " and change_status not in ('new_figure', 'other_sample') order by 1",
    )
    assert [tuple(row.values()) for row in found] == [
        ("gone_figure", "accuracy", None, "retired"),
        ("other_definition", "ece_plugin", "equal_width", "classifier"),
    ]
    others = rows(
        marts,
        "select distinct change_status, earlier_publication_id from marts.fct_run_changes"
        " where study_name != 'imported'",
    )
    assert [tuple(row.values()) for row in others] == [("no_earlier_publication", None)]


def test_every_calibration_error_fit_interval_and_ceiling_is_a_figure(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    counted = dict(
        marts.execute(
            "select figure_kind, count(*) from marts.fct_run_changes"
            " where change_status != 'gone_figure' group by 1"
        ).fetchall()
    )
    expected = {
        "calibration_error": "fct_calibration_errors where bin_count = 15",
        "temperature_fit": "fct_temperature_fits where token_group = 'all'"
        " and class_name = 'all' and fold_name = 'all'",
        "credal_overlap": "fct_credal_overlap_intervals",
        "human_ceiling": "fct_human_ceilings",
    }
    for kind, source in expected.items():
        ((count,),) = marts.execute(f"select count(*) from marts.{source}").fetchall()  # noqa: S608
        assert counted[kind] == count, kind
    # Accuracy, mean confidence, gap and log loss of each scoring, which has two binnings.
    assert counted["token_mean"] == 4 * counted["calibration_error"] / 2


def test_a_frame_is_part_of_the_sample(marts: duckdb.DuckDBPyConnection) -> None:
    found = rows(
        marts,
        "select coordinate_frame, count(distinct sample_id) as sample_count"
        " from marts.fct_run_changes where study_name = 'compared'"
        " and story_source_name = 'beta/hot' group by 1 order by 1",
    )
    # Pooled z-scores rest on every story source, human ones on people, raw ones on neither.
    assert [row["sample_count"] for row in found] == [1, 1, 1]
    ((different,),) = marts.execute(
        "select count(distinct sample_id) from marts.fct_run_changes"
        " where study_name = 'compared' and story_source_name = 'beta/hot'"
    ).fetchall()
    assert different == 3
