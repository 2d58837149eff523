"""Ingest inputs as stages of a study: registered settings, progress, a row in the run log."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import duckdb

from flows.corpora.layouts import GenerationsLayout, StoriesLayout, VectorsLayout
from flows.ingest_generations import ingest_generations
from flows.ingest_ledger import IngestReport
from flows.ingest_stories import ingest_stories
from flows.ingest_vectors import ingest_diversity_vectors
from flows.model_choice import resolve_auto
from flows.progress import REPORTER, Advance
from flows.run_log import recorded_run
from flows.settings import Settings
from flows.study import Study, StudySettings, settings_with
from warehouse.connection import checkpoint, open_warehouse, work_path

Layout: TypeAlias = StoriesLayout | GenerationsLayout | VectorsLayout
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
    with open_warehouse(
        work_path(settings.home), memory_limit=settings.memory_limit
    ) as connection:
        known = read_study(connection, name)
        chosen = resolve_auto(settings_with(known or StudySettings(study_name=name), **changes))
        reports = _ingest_all(connection, chosen, [layout])
    return StageReport(name, reports)


def ingest_study(settings: Settings, study: Study) -> StageReport:
    """Ingest every input that the study file names; a done one costs the reading of its bytes."""
    layouts: list[Layout] = [
        *(StoriesLayout(**_located(study, entry.model_dump())) for entry in study.stories),
        *(GenerationsLayout(**_located(study, entry.model_dump())) for entry in study.generations),
        *(VectorsLayout(**_located(study, entry.model_dump())) for entry in study.diversity_vectors),
    ]
    with open_warehouse(
        work_path(settings.home), memory_limit=settings.memory_limit
    ) as connection:
        reports = _ingest_all(connection, resolve_auto(study.settings), layouts)
    return StageReport(study.study_name, reports)


def read_study(connection: duckdb.DuckDBPyConnection, name: str) -> StudySettings | None:
    """Return the registered settings of study *name*, None where it is new."""
    row = connection.execute(
        "select settings_json from raw.studies where study_name = $name", {"name": name}
    ).fetchone()
    return None if row is None else StudySettings.model_validate_json(row[0])


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
            with REPORTER.get().track(f"Reading {layout.path}", None, "records") as advance:
                report = _ingest_one(
                    connection, settings, layout, advance, is_selecting=place == last_stories
                )
            if report.is_new:
                run.begin()
            reports.append(report)
        run.end("done", f"{sum(report.row_count for report in reports)} records")
        checkpoint(connection)
    return tuple(reports)


def _ingest_one(
    connection: duckdb.DuckDBPyConnection,
    settings: StudySettings,
    layout: Layout,
    advance: Advance,
    *,
    is_selecting: bool,
) -> IngestReport:
    def progress(record_count: int, byte_count: int) -> None:
        advance(record_count)

    if isinstance(layout, StoriesLayout):
        return ingest_stories(connection, settings, layout, progress, is_selecting=is_selecting)
    if isinstance(layout, GenerationsLayout):
        return ingest_generations(connection, settings, layout, progress)
    return ingest_diversity_vectors(connection, settings, layout, progress)
