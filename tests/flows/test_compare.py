"""Claims about what moved between publications: recorded figures, `compare`, and drift limits."""

from __future__ import annotations

import datetime as dt
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from flows.cli import run_cli
from flows.publish_marts import _settle_earlier_builds
from flows.published_figures import record_figures
from flows.settings import Settings
from warehouse.connection import open_warehouse, snapshot_path, work_path
from warehouse.readers import raw_state_id
from warehouse.schema import publications
from warehouse.writers import upsert

BEFORE = dt.datetime(2026, 1, 2, 3, 4)  # noqa: DTZ001 - marts hold UTC without a zone

# By hand: noises of 3 and 4 hundredths are 5 hundredths together, so 0.2 is 4 units and 0.05 is 1.
FIGURES: list[dict[str, Any]] = [
    {
        "figure_id": "ece",
        "figure_kind": "calibration_error",
        "measure_name": "ece_plugin",
        "binning": "equal_width",
        "change_status": "compared",
        "earlier_figure_value": 0.1,
        "figure_value": 0.3,
        "figure_change": 0.2,
        "change_in_units": 4.0,
    },
    {
        "figure_id": "gap",
        "measure_name": "gap",
        "change_status": "other_sample",
        "earlier_figure_value": 0.0,
        "figure_value": -0.05,
        "figure_change": -0.05,
        "change_in_units": -1.0,
    },
    {"figure_id": "bins", "measure_name": "accuracy", "change_status": "other_definition"},
    {"figure_id": "gone", "measure_name": "accuracy", "change_status": "gone_figure"},
]
COMMON = {
    "study_name": "drifting",
    "figure_kind": "token_mean",
    "test_set_name": "held",
    "language_model_name": "net",
    "noise_kind": "document_bootstrap",
    "change_unit": 0.05,
    "sample_count": 100,
    "sample_id": "s",
    "definition_json": "{}",
    "earlier_published_at": BEFORE,
    "earlier_publication_id": "before",
}
DOUBLES = ("value", "change", "unit", "units", "floor", "sd")


def column_type(name: str) -> str:
    """What `fct_run_changes` has there; its contract is tested with the dbt project."""
    if name == "earlier_published_at":
        return "timestamp"
    if name.endswith("sample_count"):
        return "bigint"
    return "double" if name.endswith(DOUBLES) else "varchar"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home whose snapshot says what moved in one study."""
    write_snapshot(tmp_path, [COMMON | figure for figure in FIGURES], "set of now")
    return tmp_path


def write_snapshot(home: Path, figures: list[dict[str, Any]], figure_set_id: str) -> None:
    names = [
        *sorted(set(COMMON).union(*FIGURES)),
        *("story_source_name", "coordinate_frame", "axes", "noise_floor", "noise_sd"),
        *("earlier_sample_count", "earlier_definition_json", "figure_set_id"),
    ]
    columns = ", ".join(f"{name} {column_type(name)}" for name in names)
    snapshot_path(home).unlink(missing_ok=True)
    with duckdb.connect(snapshot_path(home)) as connection:
        connection.execute("create schema marts")
        connection.execute(f"create table marts.fct_run_changes ({columns})")
        for figure in figures:
            row = figure | {"figure_set_id": figure_set_id}
            marks = ", ".join("?" * len(names))
            connection.execute(
                f"insert into marts.fct_run_changes values ({marks})",  # noqa: S608
                [row.get(name) for name in names],
            )


def compare(
    capsys: pytest.CaptureFixture[str], home: Path, *arguments: str
) -> tuple[int, str, str]:
    code = run_cli(["compare", *arguments, "--home", str(home)])
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def study(folder: Path, *limits: str) -> str:
    path = folder / "study.yml"
    listed = "".join(f"\n  - {{{limit}}}" for limit in limits)
    path.write_text(f"study_name: drifting\nstories: [{{path: s.jsonl}}]\ndrift_limits:{listed}\n")
    return str(path)


def test_what_moved_is_shown_with_its_size_and_what_was_not_compared_is_counted(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, output, _ = compare(capsys, home)
    assert (code, output.splitlines()) == (
        0,
        [
            "drifting: 1 of 2 figures moved by more than 2 units since the publication of "
            "2026-01-02 03:04 UTC.",
            "  ece_plugin of held by net (equal_width): 0.1 → 0.3, +0.2, +4.0 units",
            "  not compared: 1 gone_figure, 1 other_definition (change_status in fct_run_changes)",
        ],
    )


@pytest.mark.parametrize(
    ("arguments", "moved"),
    [
        (("--moved-beyond", "0.5"), ["ece_plugin", "gap"]),
        (("--moved-beyond", "4"), []),
        (("--measure", "gap", "--moved-beyond", "0"), ["gap"]),
        (("--study", "drifting"), ["ece_plugin"]),
    ],
)
def test_json_has_what_moved_beyond_what_was_asked_for(
    home: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], moved: list[str]
) -> None:
    code, output, _ = compare(capsys, home, "--json", *arguments)
    (found,) = json.loads(output)["studies"]
    assert (code, [figure["measure_name"] for figure in found["moved"]]) == (0, moved)
    assert found["earlier_publication_id"] == "before"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--study", "drifter"), "got 'drifter'; did you mean drifting?"),
        (("--measure", "ece_plugins"), "got 'ece_plugins'; did you mean ece_plugin?"),
    ],
)
def test_a_study_or_measure_without_figures_is_one_sentence(
    home: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], sentence: str
) -> None:
    code, _, errors = compare(capsys, home, *arguments)
    assert code == 1
    assert sentence in errors


def test_a_snapshot_that_compares_nothing_says_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    duckdb.connect(snapshot_path(tmp_path)).close()
    code, _, errors = compare(capsys, tmp_path)
    assert (code, len(errors.splitlines())) == (1, 1)
    assert "`calibrary build` makes it" in errors


@pytest.mark.parametrize(
    ("limits", "code"),
    [
        (("measure_name: ece_plugin, largest_change_in_units: 3",), 1),
        (("measure_name: ece_plugin, largest_change_in_units: 4",), 0),
        (("measure_name: ece_plugin, largest_change: 0.19",), 1),
        # Surely, and by enough to matter: both must be exceeded.
        (("measure_name: ece_plugin, largest_change_in_units: 3, largest_change: 0.25",), 0),
        (("measure_name: ece_plugin, largest_change_in_units: 3, direction: down",), 0),
        (("measure_name: gap, largest_change: 0.01, direction: down",), 1),
        (("measure_name: gap, largest_change: 0.01, direction: up",), 0),
        (("measure_name: ece_plugin, largest_change: 0.1, language_model_name: net",), 1),
        # Neither another definition nor a figure that is gone has drifted.
        (("measure_name: accuracy, largest_change_in_units: 0.001",), 0),
        (
            (
                "measure_name: accuracy, largest_change: 0.1",
                "measure_name: gap, largest_change_in_units: 0.5",
            ),
            1,
        ),
    ],
)
def test_a_figure_beyond_a_limit_fails_and_one_within_does_not(
    home: Path, capsys: pytest.CaptureFixture[str], limits: tuple[str, ...], code: int
) -> None:
    assert compare(capsys, home, study(home, *limits))[0] == code


def test_drift_is_one_sentence_that_names_figure_size_and_limit(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limit = "measure_name: ece_plugin, largest_change_in_units: 3, direction: up"
    code, output, errors = compare(capsys, home, study(home, limit))
    assert code == 1
    assert "1 of 2 figures moved" in output
    assert len(errors.splitlines()) == 1
    assert (
        "1 went beyond since the publication of 2026-01-02 03:04 UTC: ece_plugin of held by net "
        "(equal_width): 0.1 → 0.3, +0.2, +4.0 units (limit 3 units up); the snapshot is published "
        "all the same"
    ) in errors


def test_what_a_limit_could_not_be_held_against_is_noted(
    home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limit = "measure_name: accuracy, largest_change_in_units: 3"
    code, _, errors = compare(capsys, home, study(home, limit))
    assert code == 0
    assert "2 figures not compared: 1 gone_figure, 1 other_definition" in errors


def test_a_figure_that_is_no_longer_defined_is_beyond_every_limit(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fit = COMMON | {"measure_name": "fitted_temperature", "change_status": "no_value"}
    lost = fit | {"figure_id": "lost", "earlier_figure_value": 1.1}
    never = fit | {"figure_id": "never", "language_model_name": "other"}
    limit = "measure_name: fitted_temperature, largest_change: 100"
    write_snapshot(tmp_path, [never], "set of now")
    assert compare(capsys, tmp_path, study(tmp_path, limit))[0] == 0
    write_snapshot(tmp_path, [never, lost], "set of now")
    code, _, errors = compare(capsys, tmp_path, study(tmp_path, limit))
    assert code == 1
    assert "1 went beyond" in errors
    assert "fitted_temperature of held by net" in errors


@pytest.mark.parametrize(
    ("limit", "sentence"),
    [
        ("measure_name: ece_plugn, largest_change: 1", "did you mean ece_plugin?"),
        (
            "measure_name: gap, largest_change: 1, test_set_name: other",
            "(measure_name: gap, test_set_name: other)",
        ),
        ("measure_name: gap, largest_changes: 1", "did you mean largest_change?"),
        ("measure_name: gap", "largest_change_in_units, largest_change or both"),
        ("measure_name: gap, largest_change: 0", "must be valid, got 0"),
        ("measure_name: gap, largest_change: .inf", "must be valid, got inf"),
        ("measure_name: gap, largest_change: 1, direction: sideways", "got 'sideways'"),
    ],
)
def test_a_limit_that_can_hold_nothing_is_one_sentence(
    home: Path, capsys: pytest.CaptureFixture[str], limit: str, sentence: str
) -> None:
    code, _, errors = compare(capsys, home, study(home, limit))
    assert (code, len(errors.splitlines())) == (1, 1)
    assert sentence in errors


def recorded(home: Path) -> list[tuple[str, str, str]]:
    with open_warehouse(work_path(home), read_only=True) as connection:
        return connection.execute(
            "select publication_id, figure_id, figure_set_id from raw.published_figures"
            " order by all"
        ).fetchall()


def test_a_publication_records_the_figures_it_is_the_first_to_show(home: Path) -> None:
    settings = Settings(home=home)

    def publish(name: str, day: int, figure_set_id: str) -> int:
        write_snapshot(home, [COMMON | figure for figure in FIGURES], figure_set_id)
        with open_warehouse(work_path(home)) as connection:
            row = {"publication_id": name, "published_at": BEFORE.replace(day=day)}
            filled = {"raw_state_id": "r", "build_code_id": "c", "package_versions_json": "{}"}
            upsert(connection, publications, [row | filled | {"status": "published"}])
            state = raw_state_id(connection)
            count = record_figures(settings, connection, name)
            # What was published is no input: the next build must not take it for something new.
            assert raw_state_id(connection) == state
            return count

    shown = ["bins", "ece", "gap"]  # what is gone is no figure of this publication
    assert [publish("p1", 1, "a"), publish("p1", 1, "a"), publish("p2", 2, "a")] == [3, 0, 0]
    assert publish("p3", 3, "b") == 3
    assert publish("p4", 4, "a") == 3  # back again: new, since the latest were others
    assert recorded(home) == [
        (name, figure, figures)
        for name, figures in (("p1", "a"), ("p3", "b"), ("p4", "a"))
        for figure in shown
    ]


def test_a_process_killed_after_publishing_leaves_its_figures_to_the_next_build(home: Path) -> None:
    with duckdb.connect(snapshot_path(home)) as connection:
        connection.execute(
            "create table marts.dim_publications as "
            "select 'now' as publication_id, timestamp '2026-01-03' as published_at"
        )
    row = {"publication_id": "now", "published_at": BEFORE, "status": "building"}
    filled = {"raw_state_id": "r", "build_code_id": "c", "package_versions_json": "{}"}
    with open_warehouse(work_path(home)) as connection:
        upsert(connection, publications, [row | filled])
        _settle_earlier_builds(Settings(home=home), connection)
        assert connection.execute("select status from raw.publications").fetchall() == [
            ("published",)
        ]
    assert [figure for _, figure, _ in recorded(home)] == ["bins", "ece", "gap"]
