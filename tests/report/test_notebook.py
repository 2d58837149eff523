"""The notebook runs from top to bottom, and its figures show what the marts hold."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import duckdb
import pytest
import yaml

from warehouse.connection import snapshot_path

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOK = ROOT / "flows" / "report" / "figures.ipynb"
EXPOSURES = ROOT / "dbt_project" / "models" / "_exposures.yml"


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


def test_it_is_kept_without_output_and_its_marts_are_in_its_exposure() -> None:
    text = NOTEBOOK.read_text(encoding="utf-8")
    assert not any(cell.get("outputs") for cell in json.loads(text)["cells"])
    exposures = yaml.safe_load(EXPOSURES.read_text(encoding="utf-8"))["exposures"]
    (notebook,) = [exposure for exposure in exposures if exposure["name"] == "notebook"]
    marts = {f"ref('{mart}')" for mart in re.findall(r"from (fct_\w+)", text)}
    assert set(notebook["depends_on"]) == marts


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
            lambda rows: next(
                row["human_ceiling_high"] for row in rows if row["half_prompt_count"] == 6
            ),
            "select human_ceiling_high from fct_human_ceilings where half_prompt_count = 6 "
            "and coordinate_frame = 'pooled_z' and axis_count = 3 "
            "and measure_name = 'wasserstein_mean'",
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
