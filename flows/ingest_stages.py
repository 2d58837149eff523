"""Ingest inputs as stages of a study: registered settings, progress, a row in the run log."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias, cast

import duckdb

from flows.corpora.edgar_filings import EdgarLayout
from flows.corpora.files import find_files, require_input
from flows.corpora.forecast_inputs import open_forecasts
from flows.corpora.generation_inputs import open_generations
from flows.corpora.huggingface import dataset_id
from flows.corpora.layouts import (
    FilingsLayout,
    ForecastsLayout,
    GenerationsLayout,
    StoriesLayout,
    TextsLayout,
    VectorsLayout,
)
from flows.corpora.story_inputs import open_stories
from flows.corpora.synthetic_filings import TEST_DOCUMENTS
from flows.corpora.text_inputs import open_texts
from flows.corpora.vector_inputs import open_vectors
from flows.corpora.writing_prompts import find_pairs
from flows.ingest_filings import ingest_filings, open_any_filings
from flows.ingest_forecasts import ingest_forecasts
from flows.ingest_generated import KIND as GENERATED_KIND
from flows.ingest_generated import (
    FactProbesLayout,
    GeneratedLayout,
    SyntheticFilingsLayout,
    ingest_generated,
    open_generated,
)
from flows.ingest_generations import ingest_generations
from flows.ingest_ledger import Ingest, IngestReport, Input, describe_ingest, done_row_count
from flows.ingest_selection import selection_is_current
from flows.ingest_stories import ingest_stories
from flows.ingest_texts import ingest_texts
from flows.ingest_vectors import ingest_diversity_vectors
from flows.model_choice import resolve_auto
from flows.progress import BYTES, REPORTER, Advance
from flows.run_log import recorded_run
from flows.settings import Settings
from flows.study import Study, StudySettings, new_study, settings_with
from warehouse.connection import checkpoint, open_warehouse, work_path

FileLayout: TypeAlias = (
    StoriesLayout
    | GenerationsLayout
    | VectorsLayout
    | ForecastsLayout
    | TextsLayout
    | FilingsLayout
)
Layout: TypeAlias = FileLayout | EdgarLayout | GeneratedLayout
StudyChanges: TypeAlias = Mapping[str, str | int | None]


@dataclass(frozen=True)
class IngestStageReport:
    """What the ingests of one study brought."""

    study_name: str
    reports: tuple[IngestReport, ...]
    notes: tuple[str, ...] = ()

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
            "notes": list(self.notes),
        }

    def as_text(self) -> str:
        """Return it as one line per input, and one per reason of rejection."""
        lines = []
        for report in self.reports:
            if not report.is_new:
                lines.append(f"{self.study_name}: already ingested, no record is new.")
                lines += [f"  note: {note}" for note in report.notes]
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
        lines += [f"  note: {note}" for note in self.notes]
        return "\n".join(lines) or f"{self.study_name}: nothing to ingest."


def ingest_named(
    settings: Settings, name: str, layout: Layout, changes: StudyChanges
) -> IngestStageReport:
    """Ingest one input under *name*; the settings of a known name stay, but for *changes*."""
    with open_warehouse(work_path(settings.home), memory_limit=settings.memory_limit) as connection:
        known = read_study(connection, name)
        chosen = resolve_auto(settings_with(known or new_study(name), **changes))
        reports = _ingest_all(connection, chosen, [layout])
    return IngestStageReport(name, reports)


def ingest_study(settings: Settings, study: Study) -> IngestStageReport:
    """Ingest every input that the study file names; a done one costs the reading of its bytes."""
    with open_warehouse(work_path(settings.home), memory_limit=settings.memory_limit) as connection:
        layouts = layouts_of(settings, study)
        for layout in layouts:
            _require_paths(layout)
        chosen = resolve_auto(study.settings, read_study(connection, study.study_name))
        reports = _ingest_all(connection, chosen, layouts)
        notes = _notes_on_unnamed_inputs(connection, study.study_name, reports)
        notes += tuple(
            f"test set {name} is left out: nothing lies at its path"
            for name in study.absent_test_sets
        )
    return IngestStageReport(study.study_name, reports, notes)


def layouts_of(settings: Settings, study: Study) -> list[Layout]:
    """Return the inputs of *study* as the readers know them, paths seen from the study file."""
    found: list[Layout] = [
        EdgarLayout(
            test_set.edgar.companies,
            test_set.edgar.years,
            test_set.name,
            settings.edgar_access,
            test_set.has_tables,
        )
        for test_set in study.test_sets
        if test_set.edgar is not None
    ]
    given_layouts: list[FileLayout] = [
        *study.stories,
        *study.generations,
        *study.diversity_vectors,
        *study.forecasts,
        *(read for test_set in study.test_sets if (read := test_set.layout()) is not None),
    ]
    for layout in given_layouts:
        places = {
            name: study.resolve(given)
            for name in ("path", "prompts")
            if (given := getattr(layout, name, None)) is not None
        }
        # Each of them has a path, and those with prompts have that too.
        located: FileLayout = replace(cast("Any", layout), **places)
        found.append(located)
    return found + generated_layouts(study)


def generated_layouts(study: Study) -> list[GeneratedLayout]:
    """Return the test sets of *study* that are written from a seed."""
    found: list[GeneratedLayout] = []
    corpus = study.synthetic_filings
    for test_set in study.test_sets:
        knobs = test_set.synthetic_filings
        if knobs is not None:
            count = TEST_DOCUMENTS if test_set.document_count is None else test_set.document_count
            before = corpus.training_document_count if knobs.are_untouched else None
            settings = knobs.turned(corpus.settings)
            found.append(
                SyntheticFilingsLayout(test_set.name, corpus.seed, settings, count, before)
            )
        elif test_set.fact_probes is not None:
            found.append(FactProbesLayout(test_set.name, test_set.fact_probes.seed))
    return found


def is_ingested(connection: duckdb.DuckDBPyConnection, settings: Settings, study: Study) -> bool:
    """Say whether the study is registered as its file says and every input of it is done."""
    known = read_study(connection, study.study_name)
    chosen = resolve_auto(study.settings, known)
    if known != chosen:
        return False
    # A process killed between the last row of an ingest and the selection leaves an older one.
    if study.stories and not selection_is_current(connection, chosen):
        return False
    return all(
        done_row_count(connection, _described(chosen, layout)) is not None
        for layout in layouts_of(settings, study)
    )


def read_study(connection: duckdb.DuckDBPyConnection, name: str) -> StudySettings | None:
    """Return the registered settings of study *name*, None where it is new."""
    row = connection.execute(
        "select settings_json from raw.studies where study_name = $name", {"name": name}
    ).fetchone()
    return None if row is None else StudySettings.model_validate_json(row[0])


def _notes_on_unnamed_inputs(
    connection: duckdb.DuckDBPyConnection, study_name: str, reports: Sequence[IngestReport]
) -> tuple[str, ...]:
    """Return a note for every input the study has and its file no longer names."""
    rows = connection.execute(
        "select file_name from raw.ingests where study_name = $name and status = 'done' "
        "and ingest_kind not in ('scored_tokens', 'generated_stories') "
        "and not list_contains($named, ingest_id) order by started_at",
        {"name": study_name, "named": [report.ingest_id for report in reports]},
    ).fetchall()
    return tuple(
        f"{file_name} was read before and is not among the inputs now; its rows still count: for "
        "a study without them, choose another study_name"
        for (file_name,) in rows
    )


@dataclass(frozen=True)
class _Reader:
    """How inputs of one layout are called, found and read."""

    kind: str
    open: Callable[[Any], Input]
    ingest: Callable[..., IngestReport]


_READERS: Mapping[type, _Reader] = {
    StoriesLayout: _Reader("stories", open_stories, ingest_stories),
    GenerationsLayout: _Reader("generations", open_generations, ingest_generations),
    VectorsLayout: _Reader("diversity_vectors", open_vectors, ingest_diversity_vectors),
    ForecastsLayout: _Reader("forecasts", open_forecasts, ingest_forecasts),
    TextsLayout: _Reader("texts", open_texts, ingest_texts),
    FilingsLayout: _Reader("filings", open_any_filings, ingest_filings),
    EdgarLayout: _Reader("filings", open_any_filings, ingest_filings),
    SyntheticFilingsLayout: _Reader(GENERATED_KIND, open_generated, ingest_generated),
    FactProbesLayout: _Reader(GENERATED_KIND, open_generated, ingest_generated),
}


def _described(settings: StudySettings, layout: Layout) -> Ingest:
    reader = _READERS[type(layout)]
    return describe_ingest(settings, reader.kind, layout, reader.open(layout))


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
            # What is fetched has no size before it is here, but is counted.
            if isinstance(layout, EdgarLayout):
                size, unit = open_any_filings(layout).filing_count, "filings"
            else:
                size, unit = _input_bytes(layout), BYTES
            with REPORTER.get().track(_reading(layout), size, unit) as advance:
                report = _ingest_one(
                    connection, settings, layout, advance, is_selecting=place == last_stories
                )
            if report.is_new:
                run.begin()
            reports.append(report)
        run.end("done", f"{sum(report.row_count for report in reports)} records")
        checkpoint(connection)
    return tuple(reports)


def _reading(layout: Layout) -> str:
    if isinstance(layout, GeneratedLayout):
        return f"Writing {layout.test_set_name}"
    if isinstance(layout, EdgarLayout):
        return f"Reading {layout.test_set_name} from EDGAR"
    return f"Reading {layout.path}"


def _require_paths(layout: Layout) -> None:
    """Refuse a missing file before any other is read.

    Raises
    ------
    UnreadableInputError
        Nothing lies at a path; the sentence names it.
    """
    for path in (getattr(layout, name, None) for name in ("path", "prompts")):
        is_file = path is not None and dataset_id(path) is None
        if is_file and not find_pairs(Path(str(path)).expanduser()):
            require_input(Path(str(path)).expanduser())


def _input_bytes(layout: FileLayout | GeneratedLayout) -> int | None:
    """Return the bytes of the files that *layout* names, None where they lie elsewhere."""
    if isinstance(layout, GeneratedLayout):
        return None
    path = Path(layout.path).expanduser()
    if isinstance(layout, ForecastsLayout):
        return open_forecasts(layout).byte_count
    if isinstance(layout, TextsLayout):
        return open_texts(layout).byte_count
    if isinstance(layout, FilingsLayout):
        return open_any_filings(layout).byte_count
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
        advance(record_count if isinstance(layout, EdgarLayout) else byte_count)

    ingest = _READERS[type(layout)].ingest
    # Human stories are selected once all of them are there.
    options = {"is_selecting": is_selecting} if isinstance(layout, StoriesLayout) else {}
    return ingest(connection, settings, layout, progress, **options)
