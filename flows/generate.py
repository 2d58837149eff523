"""Generate the stories that a study asks for and the ledger lacks, batch by batch.

A batch is a pure task, mapped with the task runner of the settings; this process alone writes what
comes back: texts, tokens, and last the ledger's rows, which make it count. Killing it loses at most
the batches in flight, and a sample that is written again comes out as it would have been.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb
from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.generation_plan import (
    PlannedSample,
    Prompt,
    StorySource,
    asked_prompts,
    forget_failed,
    is_registered,
    missing_batches,
    register,
)
from flows.generation_rows import SampleRows, sample_rows
from flows.language_models.completions_endpoint import STOP_ASKING
from flows.language_models.errors import EndpointUnavailableError
from flows.language_models.samples import SampleRequest
from flows.measure import UnknownStudyError, task_runner
from flows.progress import REPORTER
from flows.run_log import recorded_run
from flows.settings import Settings, load_settings
from flows.story_writers import identify, story_writer
from flows.study import Study, load_study
from udfs.packaged_models import ModelNotFoundError, resolve_model
from warehouse.connection import checkpoint, open_warehouse, work_path
from warehouse.schema import stories, story_tokens, texts
from warehouse.writers import upsert

RETRY_SECONDS = [2.0, 10.0, 30.0]
"""Waits before an endpoint that does not answer is asked again: a restart takes about that long."""


@dataclass(frozen=True)
class GenerateReport:
    """What was generated."""

    study_name: str
    status_counts: dict[str, int]
    """Samples written by this call, per status of the ledger."""
    notes: tuple[str, ...] = ()

    def as_record(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {
            "study_name": self.study_name,
            "samples": self.status_counts,
            "notes": list(self.notes),
        }

    def as_text(self) -> str:
        """Return it as lines."""
        total = sum(self.status_counts.values())
        parts = ", ".join(f"{count:,} {name}" for name, count in sorted(self.status_counts.items()))
        first = f"Generated {total:,} stories: {parts}." if total else "Nothing new to generate."
        return "\n".join([first, *(f"  note: {note}" for note in self.notes)])


@dataclass(frozen=True)
class _Grid:
    """Every story source of a study and the prompts it is asked."""

    sources: tuple[StorySource, ...]
    prompts: tuple[Prompt, ...]
    notes: tuple[str, ...]

    batch_size: int

    def missing(self, connection: duckdb.DuckDBPyConnection) -> list[list[list[PlannedSample]]]:
        """Return the samples that the ledger lacks, per story source in batches."""
        return [
            missing_batches(connection, source, self.prompts, self.batch_size)
            for source in self.sources
        ]

    def is_done(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """Say whether the warehouse knows of every request and has a row of every sample."""
        return all(
            is_registered(connection, source, self.prompts) for source in self.sources
        ) and not any(self.missing(connection))


def generate_study(
    settings: Settings, study_path: Path, *, retries_failed: bool = False
) -> GenerateReport:
    """Generate what the study file asks for and the ledger lacks.

    Prefect is started only if there is something. A failed sample has its row and is left alone,
    unless *retries_failed*: on a machine with more memory it may do.

    Raises
    ------
    CalibraryError
        A language model cannot be used, an endpoint does not answer, or the study was not ingested.
        What was finished is kept.
    """
    study = load_study(study_path)
    if not study.decoding_strategies:
        return GenerateReport(study.study_name, {}, ("the study names no decoding strategies",))
    with open_warehouse(work_path(settings.home), memory_limit=settings.memory_limit) as connection:
        grid = _grid(connection, settings, study)
        if retries_failed:
            for source in grid.sources:
                forget_failed(connection, source, grid.prompts)
        is_done = grid.is_done(connection)
    if is_done:
        return GenerateReport(study.study_name, {}, grid.notes)
    runner = task_runner(settings)
    return generate.with_options(task_runner=runner)(str(settings.home), str(study_path))


def is_generated(connection: duckdb.DuckDBPyConnection, settings: Settings, study: Study) -> bool:
    """Say whether every sample that *study* asks for has its row in the ledger."""
    if not study.decoding_strategies:
        return True
    return _grid(connection, settings, study).is_done(connection)


@flow(name="generate", validate_parameters=False, persist_result=False, result_serializer="json")
def generate(home: str, study_path: str) -> GenerateReport:
    """Generate what the study file at *study_path* asks for and the ledger lacks."""
    settings = load_settings(Path(home))
    study = load_study(Path(study_path))
    path = work_path(settings.home)
    counts: Counter[str] = Counter()
    with (
        open_warehouse(path, memory_limit=settings.memory_limit) as connection,
        recorded_run(connection, "generate", study.study_name) as run,
    ):
        grid = _grid(connection, settings, study)
        for source, batches in zip(grid.sources, grid.missing(connection), strict=True):
            if not is_registered(connection, source, grid.prompts):
                run.begin()
                register(connection, source, grid.prompts)
            if batches:
                run.begin()
                STOP_ASKING.clear()
                try:
                    counts += _generate_source(connection, settings, source, batches)
                except BaseException:
                    STOP_ASKING.set()
                    raise
                checkpoint(connection)
        run.end("done", f"generated {sum(counts.values()):,} stories")
    return GenerateReport(study.study_name, dict(counts), grid.notes)


def _is_worth_another_try(task: Any, run: Any, state: Any) -> bool:
    """Only an endpoint that did not answer; anything else would fail again."""
    return isinstance(state.data, EndpointUnavailableError)


@task(
    name="generate-batch",
    cache_policy=NO_CACHE,
    persist_result=False,
    retries=len(RETRY_SECONDS),
    retry_delay_seconds=RETRY_SECONDS,
    retry_condition_fn=_is_worth_another_try,
)
def generate_batch(
    source: StorySource, planned: Sequence[PlannedSample], settings: Settings
) -> SampleRows:
    """Write the stories of one batch; touches no warehouse file."""
    writer = story_writer(
        source.entry, settings.model_cache, settings.device, settings.generation_batch_size
    )
    requests = [SampleRequest(sample.sample_key, sample.prompt.prompt_text) for sample in planned]
    written = writer.write(requests, source.strategy, source.limits)
    return sample_rows(source, planned, written)


def _generate_source(
    connection: duckdb.DuckDBPyConnection,
    settings: Settings,
    source: StorySource,
    batches: Sequence[Sequence[PlannedSample]],
) -> Counter[str]:
    """Keep the workers busy and write what comes back, in the order of batches."""
    counts: Counter[str] = Counter()
    in_flight: deque[Callable[[], SampleRows]] = deque()
    label = f"Writing {source.story_source_name}"
    with REPORTER.get().track(label, sum(map(len, batches)), "stories") as advance:

        def write_oldest() -> None:
            rows = in_flight.popleft()()
            upsert(connection, texts, rows.texts)
            upsert(connection, story_tokens, rows.story_tokens)
            upsert(connection, stories, rows.stories)
            counts.update(rows.stories.column("status").to_pylist())
            advance(rows.stories.num_rows)

        for batch in batches:
            in_flight.append(generate_batch.submit(source, batch, settings).result)
            if len(in_flight) > settings.worker_count:
                write_oldest()
        while in_flight:
            write_oldest()
    return counts


def _grid(connection: duckdb.DuckDBPyConnection, settings: Settings, study: Study) -> _Grid:
    row = connection.execute(
        "select count(*) from raw.studies where study_name = $name", {"name": study.study_name}
    ).fetchone()
    if row is None or row[0] == 0:
        raise UnknownStudyError(
            f"the study must be in the home before it generates, {study.study_name} is not; "
            "`calibrary run` with its file ingests it first."
        )
    prompts = asked_prompts(connection, study.study_name, study.generation)
    notes, sources = [], []
    for choice in study.language_models:
        entry = choice.entry()
        entry = replace(entry, weights=study.resolve_weights(entry.weights))
        try:
            if choice.is_optional:
                resolve_model(entry.weights)
        except ModelNotFoundError as error:
            notes.append(f"{choice.name} is left out: {error}")
            continue
        identity = identify(entry, settings)
        sources += [
            StorySource(study.study_name, entry, identity, chosen.strategy(), study.generation)
            for chosen in study.decoding_strategies
        ]
    return _Grid(tuple(sources), tuple(prompts), tuple(notes), settings.generation_batch_size)
