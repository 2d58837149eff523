"""The notebook runs from top to bottom, and its figures show what the marts hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from warehouse.connection import snapshot_path

NOTEBOOK = Path(__file__).resolve().parents[2] / "flows" / "report" / "figures.ipynb"


@pytest.fixture(scope="module")
def figures(small_study_home: Path) -> dict[str, Any]:
    """The notebook's names after all of its cells ran."""
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    found: dict[str, Any] = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("CALIBRARY_HOME", str(small_study_home))
        for cell in notebook["cells"]:
            if cell["cell_type"] == "code":
                exec("".join(cell["source"]), found)  # noqa: S102 - the project's own notebook
    found["connection"].close()
    return found


def test_it_is_kept_without_output() -> None:
    notebook = json.loads(NOTEBOOK.read_text(encoding="utf-8"))
    assert not any(cell.get("outputs") for cell in notebook["cells"])


@pytest.mark.parametrize(
    ("figure", "total", "expected"),
    [
        (
            "credal_sets",
            lambda rows: len(rows),
            "select count(*) from fct_principal_coordinates where coordinate_frame = 'pooled_z'",
        ),
        (
            "distance_from_people",
            lambda rows: sum(row["estimate"] for row in rows),
            "select sum(wasserstein_mean) from fct_credal_overlaps "
            "where coordinate_frame = 'pooled_z' and axis_count = 3",
        ),
        (
            "reliability",
            lambda rows: sum(row["accuracy"] * row["token_count"] for row in rows),
            "select count(*) filter (where is_hit) from fct_scored_tokens",
        ),
        (
            "errors",
            lambda rows: sum(row["error"] for row in rows),
            "select sum(ece_plugin + twin_ece_mean) from fct_calibration_errors "
            "where binning = 'equal_width'",
        ),
        (
            "temperatures",
            lambda rows: next(
                row["log_loss_nats"] for row in rows if row["applied_temperature"] == 1
            ),
            "select avg(log_loss_at(1.0)) from fct_scored_tokens",
        ),
    ],
)
def test_a_figure_shows_what_the_marts_hold(
    figures: dict[str, Any], small_study_home: Path, figure: str, total: Any, expected: str
) -> None:
    chart = figures[figure].to_dict()
    rows = chart["data"]["values"]
    with duckdb.connect(snapshot_path(small_study_home), read_only=True) as connection:
        connection.execute("set search_path = 'marts'")
        found = connection.execute(expected).fetchone()
    assert found is not None
    assert found[0]
    assert total(rows) == pytest.approx(found[0], rel=1e-9)
