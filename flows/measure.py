"""Measure what is missing: embeddings, word sets and part-of-speech bigrams, batch by batch.

Batches are pure tasks, mapped with the task runner of the settings; this process alone writes what
comes back, one transaction a batch. Killing it loses at most the batches in flight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.task_runners import TaskRunner

from flows.feature_batches import ROWS_OF, FeatureSettings, TextBatch
from flows.progress import REPORTER
from flows.run_log import RecordedRun, recorded_run
from flows.settings import Settings, TaskRunnerName, load_settings
from udfs.errors import CalibraryError
from warehouse.connection import checkpoint, open_warehouse, require_work_file, work_path
from warehouse.measurements import Feature, TextCut, in_batches, missing_cuts, read_texts
from warehouse.schema import text_embeddings, text_pos_bigrams, text_word_sets
from warehouse.writers import upsert

TABLE_OF = {
    Feature.EMBEDDING: text_embeddings,
    Feature.WORD_SET: text_word_sets,
    Feature.POS_BIGRAMS: text_pos_bigrams,
}

BATCH_CUTS = {Feature.EMBEDDING: 64, Feature.WORD_SET: 4096, Feature.POS_BIGRAMS: 128}
"""Texts per task and transaction: some seconds of work, so that a kill or Ctrl-C costs no more
and the 0.15 s that Prefect takes per task do not count."""

LABELS = {
    Feature.EMBEDDING: "Embedding stories",
    Feature.WORD_SET: "Finding words",
    Feature.POS_BIGRAMS: "Tagging stories",
}


class UnknownStudyError(CalibraryError):
    """The home holds no study of that name."""


@dataclass(frozen=True)
class MeasureReport:
    """What was measured, per feature: texts and cuts."""

    measured: dict[str, int]

    def as_record(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {"measured": self.measured}

    def as_text(self) -> str:
        """Return it as a sentence."""
        if not any(self.measured.values()):
            return "Nothing new to measure."
        parts = ", ".join(f"{count:,} {name}" for name, count in self.measured.items() if count)
        return f"Measured {parts} (whole texts and cuts)."


def study_names(connection: duckdb.DuckDBPyConnection, only: str | None = None) -> list[str]:
    """Return the studies of the work file, or *only* that one.

    Raises
    ------
    UnknownStudyError
        There is no study called *only*.
    """
    rows = connection.execute("select study_name from raw.studies order by 1").fetchall()
    names = [str(row[0]) for row in rows]
    if only is None:
        return names
    if only not in names:
        raise UnknownStudyError(
            f"the study must be one of {', '.join(names) or '(none yet)'}, got {only!r}."
        )
    return [only]


def missing_counts(connection: duckdb.DuckDBPyConnection, names: list[str]) -> dict[str, int]:
    """Return how many texts and cuts each feature still lacks, over the studies *names*."""
    return {
        feature.value: sum(len(missing_cuts(connection, name, feature)) for name in names)
        for feature in ROWS_OF
    }


def measure_studies(settings: Settings, only: str | None = None) -> MeasureReport:
    """Measure what the studies of the home lack; Prefect is started only if there is something."""
    require_work_file(settings.home)
    with open_warehouse(work_path(settings.home), memory_limit=settings.memory_limit) as connection:
        names = study_names(connection, only)
        missing = missing_counts(connection, names)
    if not any(missing.values()):
        return MeasureReport(missing)
    runner = task_runner(settings)
    measured = {feature.value: 0 for feature in ROWS_OF}
    for name in names:
        counts = measure.with_options(task_runner=runner)(str(settings.home), name)
        measured = {feature: measured[feature] + counts[feature] for feature in measured}
    return MeasureReport(measured)


@flow(name="measure", validate_parameters=False, persist_result=False, result_serializer="json")
def measure(home: str, study_name: str) -> dict[str, int]:
    """Measure what *study_name* lacks and return the count of rows per feature."""
    settings = load_settings(Path(home))
    with (
        open_warehouse(work_path(settings.home), memory_limit=settings.memory_limit) as connection,
        recorded_run(connection, "measure", study_name) as run,
    ):
        chosen = _feature_settings(connection, study_name, settings)
        counts = {}
        for feature in ROWS_OF:
            cuts = missing_cuts(connection, study_name, feature)
            if cuts:
                _measure_feature(connection, run, feature, cuts, chosen, settings.worker_count)
                checkpoint(connection)
            counts[feature.value] = len(cuts)
        done = ", ".join(f"{count} {name}" for name, count in counts.items())
        run.end("done", f"measured {done}")
    return counts


@task(name="measure-batch", cache_policy=NO_CACHE, persist_result=False)
def measure_batch(feature: Feature, batch: TextBatch, settings: FeatureSettings) -> pa.Table:
    """Compute the rows of one batch; touches no file."""
    return ROWS_OF[feature](batch, settings)


def task_runner(settings: Settings) -> TaskRunner[Any]:
    """Return the Prefect task runner that the settings name.

    Raises
    ------
    CalibraryError
        Dask is named and not installed.
    """
    if settings.task_runner is TaskRunnerName.DASK:
        try:
            from prefect_dask.task_runners import DaskTaskRunner
        except ImportError:
            raise CalibraryError(
                "CALIBRARY_TASK_RUNNER=dask must have prefect-dask installed; "
                "run `pip install calibrary[dask]`."
            ) from None
        if settings.dask_address is not None:
            return DaskTaskRunner(address=settings.dask_address)
        return DaskTaskRunner(
            cluster_kwargs={"n_workers": settings.worker_count, "threads_per_worker": 1}
        )
    from prefect.task_runners import ProcessPoolTaskRunner, ThreadPoolTaskRunner

    if settings.task_runner is TaskRunnerName.PROCESSES:
        return ProcessPoolTaskRunner(max_workers=settings.worker_count)
    return ThreadPoolTaskRunner(max_workers=settings.worker_count)


def _measure_feature(
    connection: duckdb.DuckDBPyConnection,
    run: RecordedRun,
    feature: Feature,
    cuts: list[TextCut],
    settings: FeatureSettings,
    worker_count: int,
) -> None:
    """Keep the workers busy and write what comes back, in the order of batches."""
    in_flight: deque[tuple[int, Callable[[], pa.Table]]] = deque()
    with REPORTER.get().track(LABELS[feature], len(cuts), "texts") as advance:

        def write_oldest() -> None:
            count, result = in_flight.popleft()
            rows = result()
            run.begin()
            upsert(connection, TABLE_OF[feature], rows)
            advance(count)

        for group in in_batches(cuts, BATCH_CUTS[feature]):
            texts = read_texts(connection, sorted({cut.text_id for cut in group}))
            batch = TextBatch(
                tuple(cut.text_id for cut in group),
                tuple(cut.word_limit for cut in group),
                tuple(texts[cut.text_id] for cut in group),
            )
            future = measure_batch.submit(feature, batch, settings)
            in_flight.append((len(group), future.result))
            if len(in_flight) > worker_count:
                write_oldest()
        while in_flight:
            write_oldest()


def _feature_settings(
    connection: duckdb.DuckDBPyConnection, study_name: str, settings: Settings
) -> FeatureSettings:
    row = connection.execute(
        "select embedding_model_name, embedding_max_tokens, tagging_model_name, "
        "tagging_max_characters from raw.studies where study_name = $study_name",
        {"study_name": study_name},
    ).fetchone()
    if row is None:
        raise UnknownStudyError(f"the study must be in the home, got {study_name!r}.")
    embedding_model_name, embedding_max_tokens, tagging_model_name, tagging_max_characters = row
    return FeatureSettings(
        embedding_model_name=embedding_model_name,
        embedding_max_tokens=embedding_max_tokens,
        tagging_model_name=tagging_model_name,
        tagging_max_characters=tagging_max_characters,
        embedding_batch_size=settings.embedding_batch_size,
        device=settings.device,
    )
