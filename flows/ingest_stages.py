"""Ingest inputs as stages of a study: registered settings, progress, a row in the run log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import duckdb
from pydantic import BaseModel

from flows.corpora.files import find_files
from flows.corpora.forecast_inputs import open_forecasts
from flows.corpora.generation_inputs import open_generations
from flows.corpora.huggingface import dataset_id
from flows.corpora.layouts import (
    ForecastsLayout,
    GenerationsLayout,
    StoriesLayout,
    VectorsLayout,
)
from flows.corpora.story_inputs import open_stories
from flows.corpora.vector_inputs import open_vectors
from flows.corpora.writing_prompts import find_pairs
from flows.ingest_forecasts import ingest_forecasts
from flows.ingest_generations import ingest_generations
from flows.ingest_ledger import Ingest, IngestReport, describe_ingest, done_row_count
from flows.ingest_selection import current_selection_id
from flows.ingest_stories import ingest_stories
from flows.ingest_vectors import ingest_diversity_vectors
from flows.model_choice import resolve_auto
from flows.progress import REPORTER, Advance
from flows.run_log import recorded_run
from flows.settings import Settings
from flows.study import Study, StudySettings, new_study, settings_with
from warehouse.connection import checkpoint, open_warehouse, work_path

Layout: TypeAlias = StoriesLayout | GenerationsLayout | VectorsLayout | ForecastsLayout
StudyChanges: TypeAlias = Mapping[str, str | int | None]


@dataclass(frozen=True)
class StageReport:
    """What the ingests of one study brought."""

    study_name: str
    reports: tuple[IngestReport, ...]

    def as_record(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {
            "study_name": self.study_name,
            "ingests": [
                {
                    "ingest_id": report.ingest_id,
                    "is_new": report.is_new,
                    "row_count": report.row_count,
                    "inserted_count": report.inserted_count,
                    "rejects": dict(report.reject_counts),
                    "notes": list(report.notes),
                }
                for report in self.reports
            ],
        }

    def as_text(self) -> str:
        """Return it as one line per input, and one per reason of rejection."""
        lines = []
        for report in self.reports:
            if not report.is_new:
                lines.append(f"{self.study_name}: already ingested, nothing new.")
                continue
            lines.append(
                f"{self.study_name}: {report.row_count:,} records read, "
                f"{report.inserted_count:,} rows new."
            )
            lines += [
                f"  rejected: {count:,} {reason}"
                for reason, count in sorted(report.reject_counts.items())
            ]
            lines += [f"  note: {note}" for note in report.notes]
        return "\n".join(lines) or f"{self.study_name}: nothing to ingest."


def ingest_named(
    settings: Settings, name: str, layout: Layout, changes: StudyChanges
) -> StageReport:
    """Ingest one input under *name*; the settings of a known name stay, but for *changes*."""
    with open_warehouse(work_path(settings.home), memory_limit=settings.memory_limit) as connection:
        known = read_study(connection, name)
        chosen = resolve_auto(settings_with(known or new_study(name), **changes))
        reports = _ingest_all(connection, chosen, [layout])
    return StageReport(name, reports)


def ingest_study(settings: Settings, study: Study) -> StageReport:
    """Ingest every input that the study file names; a done one costs the reading of its bytes."""
    with open_warehouse(work_path(settings.home), memory_limit=settings.memory_limit) as connection:
        reports = _ingest_all(connection, resolve_auto(study.settings), layouts_of(study))
    return StageReport(study.study_name, reports)


def layouts_of(study: Study) -> list[Layout]:
    """Return the inputs of *study* as the readers know them, paths seen from the study file."""

    def located(entry: BaseModel) -> dict[str, Any]:
        given = entry.model_dump()
        places = {
            name: study.resolve(given[name]) for name in ("path", "prompts") if given.get(name)
        }
        return given | places

    return [
        *(StoriesLayout(**located(entry)) for entry in study.stories),
        *(GenerationsLayout(**located(entry)) for entry in study.generations),
        *(VectorsLayout(**located(entry)) for entry in study.diversity_vectors),
    ]


def is_ingested(connection: duckdb.DuckDBPyConnection, study: Study) -> bool:
    """Say whether the study is registered as its file says and every input of it is done."""
    settings = resolve_auto(study.settings)
    if read_study(connection, study.study_name) != settings:
        return False
    # A process killed between the last row of an ingest and the selection leaves none.
    if study.stories and current_selection_id(connection, study.study_name) is None:
        return False
    return all(
        done_row_count(connection, _described(settings, layout)) is not None
        for layout in layouts_of(study)
    )


def read_study(connection: duckdb.DuckDBPyConnection, name: str) -> StudySettings | None:
    """Return the registered settings of study *name*, None where it is new."""
    row = connection.execute(
        "select settings_json from raw.studies where study_name = $name", {"name": name}
    ).fetchone()
    return None if row is None else StudySettings.model_validate_json(row[0])


def _described(settings: StudySettings, layout: Layout) -> Ingest:
    if isinstance(layout, StoriesLayout):
        return describe_ingest(settings, "stories", layout, open_stories(layout))
    if isinstance(layout, GenerationsLayout):
        return describe_ingest(settings, "generations", layout, open_generations(layout))
    if isinstance(layout, ForecastsLayout):
        return describe_ingest(settings, "forecasts", layout, open_forecasts(layout))
    return describe_ingest(settings, "diversity_vectors", layout, open_vectors(layout))


def _ingest_all(
    connection: duckdb.DuckDBPyConnection, settings: StudySettings, layouts: Sequence[Layout]
) -> tuple[IngestReport, ...]:
    """Ingest *layouts* in order; human stories are selected once, after the last of them."""
    before = read_study(connection, settings.study_name)
    last_stories = max(
        (place for place, layout in enumerate(layouts) if isinstance(layout, StoriesLayout)),
        default=-1,
    )
    reports = []
    with recorded_run(connection, "ingest", settings.study_name) as run:
        if before != settings:
            run.begin()
        for place, layout in enumerate(layouts):
            size = _input_bytes(layout)
            with REPORTER.get().track(f"Reading {layout.path}", size, "bytes") as advance:
                report = _ingest_one(
                    connection, settings, layout, advance, is_selecting=place == last_stories
                )
            if report.is_new:
                run.begin()
            reports.append(report)
        run.end("done", f"{sum(report.row_count for report in reports)} records")
        checkpoint(connection)
    return tuple(reports)


def _input_bytes(layout: Layout) -> int | None:
    """Return the bytes of the files that *layout* names, None for a data set of the hub."""
    path = Path(layout.path).expanduser()
    if isinstance(layout, ForecastsLayout):
        return open_forecasts(layout).byte_count
    pairs = find_pairs(path) if isinstance(layout, StoriesLayout) else ()
    if pairs:
        return sum(file.stat().st_size for pair in pairs for file in (pair.source, pair.target))
    if isinstance(layout, StoriesLayout) and dataset_id(layout.path) is not None:
        return None
    files = find_files(path, layout.record_format).files
    if not isinstance(layout, VectorsLayout) and layout.prompts is not None:
        files += find_files(Path(layout.prompts).expanduser()).files
    return sum(file.path.stat().st_size for file in files)


def _ingest_one(
    connection: duckdb.DuckDBPyConnection,
    settings: StudySettings,
    layout: Layout,
    advance: Advance,
    *,
    is_selecting: bool,
) -> IngestReport:
    def progress(record_count: int, byte_count: int) -> None:
        advance(byte_count)

    if isinstance(layout, StoriesLayout):
        return ingest_stories(connection, settings, layout, progress, is_selecting=is_selecting)
    if isinstance(layout, GenerationsLayout):
        return ingest_generations(connection, settings, layout, progress)
    if isinstance(layout, ForecastsLayout):
        return ingest_forecasts(connection, settings, layout, progress)
    return ingest_diversity_vectors(connection, settings, layout, progress)
