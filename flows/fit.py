"""Train the small language models of a study and score its test sets by them, exactly.

A scoring is a pure task: specifications and texts in, Arrow tables out. This process alone writes
what comes back, tokens first and last the row that makes them count; killing it loses at most the
scorings in flight.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import duckdb
from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.fit_plan import PlannedScoring, planned_scorings, sentence_documents, trained
from flows.fit_rows import FittedRows, fact_forecast, fitted_rows, text_forecast
from flows.language_models.vocabulary import encode
from flows.measure import UnknownStudyError, task_runner
from flows.progress import REPORTER
from flows.run_log import recorded_run
from flows.scoring_plan import begin_scoring, finish_scoring, is_registered
from flows.settings import Settings, load_settings
from flows.study import Study, load_study
from warehouse.connection import checkpoint, open_warehouse, work_path
from warehouse.measurements import read_texts
from warehouse.schema import (
    exact_fits,
    fact_probes,
    rejects,
    scored_documents,
    scored_tokens,
    scorings,
    trained_language_models,
)
from warehouse.writers import upsert

WEIGHTS_FOLDER = "weights"
"""In the home: decoders under the hash of their weights."""

_TRAINING = threading.Lock()
"""Two scorings of a thread pool must not train the same language models at once."""


@dataclass(frozen=True)
class FitReport:
    """What was trained and scored."""

    study_name: str
    token_counts: dict[str, int] = field(default_factory=dict)
    """Tokens scored by this call, per test set and language model."""

    def as_record(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {"study_name": self.study_name, "tokens": self.token_counts}

    def as_text(self) -> str:
        """Return it as lines."""
        lines = [f"Scored {name}: {count:,} tokens." for name, count in self.token_counts.items()]
        return "\n".join(lines or ["Nothing new to train or to score."])


def fit_study(settings: Settings, study_path: Path) -> FitReport:
    """Train and score what the study file asks for and is not there yet.

    Prefect is started only if there is something.

    Raises
    ------
    CalibraryError
        A test set has no documents, or a language model cannot be trained on its text. What was
        finished is kept.
    """
    study = load_study(study_path)
    with open_warehouse(work_path(settings.home), memory_limit=settings.memory_limit) as connection:
        if is_fitted(connection, settings, study):
            return FitReport(study.study_name)
    return fit.with_options(task_runner=task_runner(settings))(str(settings.home), str(study_path))


def is_fitted(connection: duckdb.DuckDBPyConnection, settings: Settings, study: Study) -> bool:
    """Say whether every language model that *study* trains has scored its test sets."""
    if not study.trained_language_models:
        return True
    return not _missing(connection, settings, study)


def _missing(
    connection: duckdb.DuckDBPyConnection, settings: Settings, study: Study
) -> list[PlannedScoring]:
    row = connection.execute(
        "select count(*) from raw.studies where study_name = $name", {"name": study.study_name}
    ).fetchone()
    if row is None or row[0] == 0:
        raise UnknownStudyError(
            f"the study must be in the home before it is fitted, {study.study_name} is not; "
            "`calibrary run` with its file ingests it first."
        )
    planned = planned_scorings(connection, study, settings.home / WEIGHTS_FOLDER)
    return [each for each in planned if not is_registered(connection, each.scoring, each.documents)]


@flow(name="fit", validate_parameters=False, persist_result=False, result_serializer="json")
def fit(home: str, study_path: str) -> FitReport:
    """Train and score what the study file asks for and the warehouse lacks."""
    settings = load_settings(Path(home))
    study = load_study(Path(study_path))
    counts: dict[str, int] = {}
    in_flight: deque[tuple[PlannedScoring, Callable[[], FittedRows]]] = deque()
    with (
        open_warehouse(work_path(settings.home), memory_limit=settings.memory_limit) as connection,
        recorded_run(connection, "fit", study.study_name) as run,
    ):
        missing = _missing(connection, settings, study)
        if missing:
            run.begin()
        label = "Training and scoring"
        with REPORTER.get().track(label, len(missing), "scorings") as advance:

            def write_oldest() -> None:
                planned, result = in_flight.popleft()
                counts[planned.scoring.shown_name] = write_scoring(connection, planned, result())
                advance(1)

            for planned in missing:
                ids = sorted({document.text_id for document in planned.documents})
                future = fit_test_set.submit(planned, read_texts(connection, ids))
                in_flight.append((planned, future.result))
                if len(in_flight) > settings.worker_count:
                    write_oldest()
            while in_flight:
                write_oldest()
        run.end("done", f"scored {sum(counts.values()):,} tokens")
    return FitReport(study.study_name, counts)


@task(name="fit-test-set", cache_policy=NO_CACHE, persist_result=False)
def fit_test_set(planned: PlannedScoring, texts: dict[str, str]) -> FittedRows:
    """Train a language model where this process has not yet, and score one test set by it."""
    return fitted_test_set(planned, texts)


def fitted_test_set(planned: PlannedScoring, texts: dict[str, str]) -> FittedRows:
    """Return the rows of one scoring; touches no warehouse file."""
    with _TRAINING:
        language_model, world = trained(planned.job)[planned.spec.language_model_name]
    if language_model.vocabulary is None or world is not None:
        if world is None:
            raise ValueError("a fact model must have facts")
        found = fact_forecast(language_model, world)
    else:
        rule = planned.scoring.sentence_rule
        documents = sentence_documents(rule, planned.documents, texts)
        found = text_forecast(language_model, encode(language_model.vocabulary, documents))
    return fitted_rows(planned.scoring, planned.documents, language_model, found)


def write_scoring(
    connection: duckdb.DuckDBPyConnection, planned: PlannedScoring, rows: FittedRows
) -> int:
    """Write one scoring, what makes it count last; return the tokens scored."""
    begin_scoring(connection, planned.scoring)
    if rows.language_model:
        upsert(connection, trained_language_models, [rows.language_model])
    upsert(connection, scorings, [rows.scoring], update=["outcome_count"])
    upsert(connection, scored_tokens, rows.tokens)
    upsert(connection, rejects, rows.rejects)
    upsert(connection, fact_probes, rows.probes)
    upsert(connection, scored_documents, rows.documents)
    keys = {"scoring_id", "token_group"}
    changing = [column.name for column in exact_fits.columns if column.name not in keys]
    upsert(connection, exact_fits, rows.fits, update=changing)
    finish_scoring(connection, planned.scoring, planned.documents)
    checkpoint(connection)
    return int(rows.tokens.num_rows)
