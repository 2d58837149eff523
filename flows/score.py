"""Score the test sets of a study token by token, batch by batch.

A batch is a pure task, mapped with the task runner of the settings; this process alone writes what
comes back: tokens, rejects, and last the documents' rows, which make them count. Killing it loses
at most the batches in flight.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import duckdb
import pyarrow as pa
from prefect import flow, task
from prefect.cache_policies import NO_CACHE

from flows.language_models.ready_made import READY_MADE
from flows.language_models.token_scoring import WindowSettings
from flows.language_models.token_windows import DocumentText
from flows.measure import UnknownStudyError, task_runner
from flows.progress import REPORTER
from flows.run_log import recorded_run
from flows.scoring_plan import (
    Document,
    Scoring,
    begin_scoring,
    documents_of,
    finish_scoring,
    is_registered,
    missing_batches,
)
from flows.scoring_rows import ScoredRows, scored_rows
from flows.settings import Settings, load_settings
from flows.study import Study, load_study
from flows.study_generation import LanguageModelChoice
from flows.study_scoring import ScoringSettings, TestSetChoice
from flows.token_scorers import ScorerChoice, identify_scorer, token_scorer
from udfs.packaged_models import ModelNotFoundError, resolve_model
from warehouse.connection import checkpoint, open_warehouse, work_path
from warehouse.measurements import read_texts
from warehouse.schema import rejects, scored_documents, scored_tokens, scorings
from warehouse.writers import upsert


@dataclass(frozen=True)
class ScoreReport:
    """What was scored."""

    study_name: str
    token_counts: dict[str, int]
    """Tokens scored by this call, per test set and language model."""
    rejected_count: int = 0
    notes: tuple[str, ...] = ()

    def as_record(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {
            "study_name": self.study_name,
            "tokens": self.token_counts,
            "rejected": self.rejected_count,
            "notes": list(self.notes),
        }

    def as_text(self) -> str:
        """Return it as lines."""
        lines = [f"Scored {name}: {count:,} tokens." for name, count in self.token_counts.items()]
        if self.rejected_count:
            lines.append(
                f"  rejected: {self.rejected_count:,} tokens without a forecast, or that were "
                "called impossible; accuracy and every error leave them out"
            )
        return "\n".join([*(lines or ["Nothing new to score."]), *self._noted()])

    def _noted(self) -> list[str]:
        return [f"  note: {note}" for note in self.notes]


@dataclass(frozen=True)
class ScoringRequest:
    """Everything that one call of the stage is asked for."""

    study_name: str
    test_sets: tuple[TestSetChoice, ...]
    language_models: tuple[LanguageModelChoice, ...]
    scoring: ScoringSettings
    folder: Path | None = None
    """Where relative paths of weights start; None: the working directory."""


@dataclass(frozen=True)
class _Work:
    """Every scoring that is asked for, with its documents."""

    scorings: tuple[tuple[Scoring, tuple[Document, ...]], ...]
    notes: tuple[str, ...]
    batch_characters: int

    def is_done(self, connection: duckdb.DuckDBPyConnection) -> bool:
        """Say whether every document is scored and the warehouse knows it."""
        return all(is_registered(connection, *each) for each in self.scorings)

    def missing(
        self, connection: duckdb.DuckDBPyConnection, scoring: Scoring, documents: Sequence[Document]
    ) -> list[list[Document]]:
        """Return the batches that *scoring* lacks."""
        return missing_batches(connection, scoring, documents, self.batch_characters)


def request_of(study: Study) -> ScoringRequest:
    """Return what the study file asks for."""
    return ScoringRequest(
        study.study_name,
        study.test_sets,
        study.scored_language_models,
        study.scoring,
        study.folder,
    )


def request_by_name(name: str, language_models: Sequence[str]) -> ScoringRequest:
    """Return the request to score the ingested test set *name* by *language_models*.

    Each is a ready-made name, or weights, whose last part becomes the name.
    """
    choices = [
        LanguageModelChoice(name=_name_of(given), weights=None if given in READY_MADE else given)
        for given in language_models
    ]
    test_set = TestSetChoice(name=name, path=name)
    return ScoringRequest(name, (test_set,), tuple(choices), ScoringSettings())


def score_study(settings: Settings, study_path: Path) -> ScoreReport:
    """Score the test sets that the study file names and that are not scored yet."""
    study = load_study(study_path)
    if not study.test_sets:
        return ScoreReport(study.study_name, {}, notes=("the study names no test sets",))
    return score_request(settings, request_of(study))


def score_request(settings: Settings, request: ScoringRequest) -> ScoreReport:
    """Score what *request* asks for; Prefect is started only if there is something.

    Raises
    ------
    CalibraryError
        A language model cannot be used, or a test set has no documents. What was finished is kept.
    """
    with open_warehouse(work_path(settings.home), memory_limit=settings.memory_limit) as connection:
        work = _work(connection, settings, request)
        is_done = work.is_done(connection)
    if is_done:
        return ScoreReport(request.study_name, {}, notes=work.notes)
    return score.with_options(task_runner=task_runner(settings))(str(settings.home), request)


def is_scored(connection: duckdb.DuckDBPyConnection, settings: Settings, study: Study) -> bool:
    """Say whether every test set of *study* is scored by every language model asked."""
    if not study.test_sets:
        return True
    return _work(connection, settings, request_of(study)).is_done(connection)


@flow(name="score", validate_parameters=False, persist_result=False, result_serializer="json")
def score(home: str, request: ScoringRequest) -> ScoreReport:
    """Score what *request* asks for and the warehouse lacks."""
    settings = load_settings(Path(home))
    counts: dict[str, int] = {}
    rejected = 0
    with (
        open_warehouse(work_path(settings.home), memory_limit=settings.memory_limit) as connection,
        recorded_run(connection, "score", request.study_name) as run,
    ):
        work = _work(connection, settings, request)
        for scoring, documents in work.scorings:
            if is_registered(connection, scoring, documents):
                continue
            run.begin()
            begin_scoring(connection, scoring)
            batches = work.missing(connection, scoring, documents)
            token_count, reject_count = _score_batches(connection, settings, scoring, batches)
            finish_scoring(connection, scoring, documents)
            counts[scoring.shown_name] = token_count
            rejected += reject_count
        run.end("done", f"scored {sum(counts.values()):,} tokens")
    return ScoreReport(request.study_name, counts, rejected, work.notes)


@task(name="score-batch", cache_policy=NO_CACHE, persist_result=False)
def score_batch(
    scoring: Scoring,
    documents: Sequence[Document],
    texts: Sequence[DocumentText],
    settings: Settings,
) -> ScoredRows:
    """Score the tokens of one batch; touches no warehouse file."""
    scorer = token_scorer(
        ScorerChoice(
            scoring.entry,
            scoring.windows,
            settings.model_cache,
            settings.device,
            settings.scoring_batch_tokens,
        )
    )
    return scored_rows(scoring, documents, scorer.score(texts), scorer)


def _score_batches(
    connection: duckdb.DuckDBPyConnection,
    settings: Settings,
    scoring: Scoring,
    batches: Sequence[Sequence[Document]],
) -> tuple[int, int]:
    """Keep the workers busy and write what comes back; return tokens scored and rejected."""
    token_count = reject_count = 0
    in_flight: deque[tuple[int, Callable[[], ScoredRows]]] = deque()
    size = sum(document.character_count for batch in batches for document in batch)
    with REPORTER.get().track(f"Scoring {scoring.shown_name}", size, "characters") as advance:

        def write_oldest() -> None:
            nonlocal token_count, reject_count
            characters, result = in_flight.popleft()
            rows = result()
            upsert(connection, scorings, [rows.scoring], update=["outcome_count"])
            if rows.token_count:
                upsert(connection, scored_tokens, pa.concat_tables(rows.tokens))
            upsert(connection, rejects, rows.rejects)
            upsert(connection, scored_documents, rows.documents)
            token_count += rows.token_count
            reject_count += rows.rejects.num_rows
            advance(characters)

        for batch in batches:
            texts = _read(connection, batch)
            characters = sum(document.character_count for document in batch)
            future = score_batch.submit(scoring, batch, texts, settings)
            in_flight.append((characters, future.result))
            if len(in_flight) > settings.worker_count:
                write_oldest()
        while in_flight:
            write_oldest()
    checkpoint(connection)
    return token_count, reject_count


def _read(connection: duckdb.DuckDBPyConnection, batch: Sequence[Document]) -> list[DocumentText]:
    """Return the texts of *batch*, one batch at a time, so that memory stays bounded."""
    wanted = {document.text_id for document in batch}
    wanted |= {document.context_text_id for document in batch if document.context_text_id}
    texts = read_texts(connection, sorted(wanted))
    return [
        DocumentText(
            document.document_id,
            texts[document.text_id],
            document.context_text
            if document.context_text_id is None
            else texts[document.context_text_id],
        )
        for document in batch
    ]


def _work(
    connection: duckdb.DuckDBPyConnection, settings: Settings, request: ScoringRequest
) -> _Work:
    row = connection.execute(
        "select count(*) from raw.studies where study_name = $name", {"name": request.study_name}
    ).fetchone()
    if row is None or row[0] == 0:
        raise UnknownStudyError(
            f"the study must be in the home before it is scored, {request.study_name} is not; "
            "`calibrary run` with its file, or `calibrary ingest texts --name`, ingests it first."
        )
    notes: list[str] = []
    asked: list[tuple[Scoring, tuple[Document, ...]]] = []
    documents = {
        test_set.name: tuple(documents_of(connection, request.study_name, test_set))
        for test_set in request.test_sets
    }
    for choice in request.language_models:
        entry = choice.entry()
        entry = replace(entry, weights=_located(entry.weights, request.folder))
        try:
            if choice.is_optional:
                resolve_model(entry.weights)
        except ModelNotFoundError as error:
            notes.append(f"{choice.name} is left out: {error}")
            continue
        identity = identify_scorer(entry, settings)
        windows = _windows(request.scoring, identity.context_tokens)
        asked += [
            (
                Scoring(request.study_name, test_set, entry, identity, windows),
                documents[test_set.name],
            )
            for test_set in request.test_sets
        ]
    return _Work(tuple(asked), tuple(notes), settings.scoring_batch_characters)


def _windows(asked: ScoringSettings, context_tokens: int | None) -> WindowSettings:
    """Return the windows that a language model can read; a short one repeats half at most."""
    window = min(asked.window_tokens, context_tokens or asked.window_tokens)
    return WindowSettings(window, min(asked.overlap_tokens, window // 2))


def _located(weights: str, folder: Path | None) -> str:
    """Return where *weights* lies as seen from *folder*; a name where nothing lies stays."""
    candidate = (folder or Path.cwd()) / Path(weights).expanduser()
    return str(candidate) if candidate.exists() else weights


def _name_of(given: str) -> str:
    """Return what a language model is called that is given by its weights alone."""
    if given in READY_MADE:
        return given
    last = given.removeprefix("packaged:").rstrip("/").rpartition("/")[2]
    return last.removesuffix(".gguf")
