"""Which language models a study trains, on what, and which test sets each of them scores."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal

import duckdb
import orjson

from flows.corpora.sentence_documents import SentenceDocument, sentence_document
from flows.ingest_generated import texts_sha256, training_documents
from flows.language_models.fact_model import FactWorld
from flows.language_models.ready_made import LanguageModelEntry
from flows.language_models.token_scoring import WindowSettings
from flows.language_models.training import (
    LanguageModelKind,
    TrainedLanguageModel,
    TrainingSpec,
    train,
    train_fact_model,
)
from flows.scoring_plan import Document, Scoring, documents_of
from flows.study import Study
from flows.study_scoring import TestSetChoice
from flows.study_training import SyntheticFilingsChoice, TrainedLanguageModelChoice

SentenceRule = Literal["lines", "prose"]
"""Texts written here have a sentence a line, others are cut by `sentence_document`."""

_NO_WINDOWS = WindowSettings(0, 0)


@dataclass(frozen=True)
class TrainedScoring(Scoring):
    """A language model trained here reading one test set, sentence by sentence."""

    @property
    def sentence_rule(self) -> SentenceRule:
        """How its texts are cut into sentences."""
        return "prose" if self.test_set.synthetic_filings is None else "lines"

    @cached_property
    def options_json(self) -> str:
        """All that a score depends on beside the document itself."""
        counts = {"parameter_count": None, "context_tokens": None}
        options = {
            "test_set_name": self.test_set.name,
            "language_model": asdict(self.identity) | counts,
            "sentence_rule": self.sentence_rule,
        }
        return orjson.dumps(options, option=orjson.OPT_SORT_KEYS).decode()

    def row(self, outcome_count: int | None) -> dict[str, object]:
        """Return its row of ``raw.scorings``; there are no windows."""
        return super().row(outcome_count) | {"window_tokens": None, "overlap_tokens": None}


@dataclass(frozen=True)
class TrainingJob:
    """Language models that are trained together; small enough to be sent to another process.

    Attributes
    ----------
    specs : tuple of TrainingSpec
    corpus : SyntheticFilingsChoice
        Where the training text comes from.
    fact_seed : int or None
        Of the facts instead. None: no fact model.
    weights_folder : Path
    known_weights : tuple of (str, str)
        ``language_model_id`` and file name of decoders that were trained before.
    """

    specs: tuple[TrainingSpec, ...]
    corpus: SyntheticFilingsChoice
    fact_seed: int | None
    weights_folder: Path
    known_weights: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class PlannedScoring:
    """One scoring, its documents and the job that trains its language model."""

    job: TrainingJob
    spec: TrainingSpec
    scoring: TrainedScoring
    documents: tuple[Document, ...]


def planned_scorings(
    connection: duckdb.DuckDBPyConnection, study: Study, weights_folder: Path
) -> list[PlannedScoring]:
    """Return every scoring by a language model that *study* trains, job by job.

    Raises
    ------
    CalibraryError
        A test set has no documents.
    """
    corpus = study.synthetic_filings
    known = _known_weights(connection)
    documents = {
        test_set.name: tuple(documents_of(connection, study.study_name, test_set))
        for test_set in study.test_sets
    }
    found = []
    for choice in study.trained_language_models:
        for job, test_sets in _jobs(choice, corpus, study.test_sets, weights_folder, known):
            found += [
                PlannedScoring(
                    job, spec, _scoring(study.study_name, test_set, spec), documents[test_set.name]
                )
                for spec in job.specs
                for test_set in test_sets
            ]
    return found


def _jobs(
    choice: TrainedLanguageModelChoice,
    corpus: SyntheticFilingsChoice,
    test_sets: Sequence[TestSetChoice],
    weights_folder: Path,
    known: dict[str, str],
) -> list[tuple[TrainingJob, list[TestSetChoice]]]:
    asked = [each for each in test_sets if not choice.test_sets or each.name in choice.test_sets]
    if LanguageModelKind(choice.kind) is LanguageModelKind.FACT_MODEL:
        # Every set of facts has a text of its own, and so a fact model.
        return [
            (
                TrainingJob(
                    tuple(choice.specs(_facts_sha256(test_set.fact_probes.seed))),
                    corpus,
                    test_set.fact_probes.seed,
                    weights_folder,
                ),
                [test_set],
            )
            for test_set in asked
            if test_set.fact_probes is not None
        ]
    specs = choice.specs(training_sha256(corpus))
    # Decoders take long and share nothing: each is a job of its own, so that none is lost.
    is_decoder = LanguageModelKind(choice.kind) is LanguageModelKind.DECODER
    groups = [[spec] for spec in specs] if is_decoder else [specs]
    texts = [each for each in asked if each.fact_probes is None]
    return [
        (TrainingJob(tuple(group), corpus, None, weights_folder, _weights_of(group, known)), texts)
        for group in groups
    ]


def _weights_of(
    specs: Sequence[TrainingSpec], known: dict[str, str]
) -> tuple[tuple[str, str], ...]:
    ids = [spec.identity.language_model_id for spec in specs]
    return tuple((each, known[each]) for each in ids if each in known)


def training_text(corpus: SyntheticFilingsChoice) -> tuple[SentenceDocument, ...]:
    """Return the documents of the training text."""
    return training_documents(corpus.seed, corpus.settings, corpus.training_document_count)


def training_sha256(corpus: SyntheticFilingsChoice) -> str:
    """Return the fingerprint of the training text."""
    return texts_sha256(tuple(document.text for document in training_text(corpus)))


def _facts_sha256(seed: int) -> str:
    return hashlib.sha256(f"facts {seed}".encode()).hexdigest()


def _scoring(study_name: str, test_set: TestSetChoice, spec: TrainingSpec) -> TrainedScoring:
    entry = LanguageModelEntry(spec.language_model_name, spec.kind.value)
    return TrainedScoring(study_name, test_set, entry, spec.identity, _NO_WINDOWS)


def _known_weights(connection: duckdb.DuckDBPyConnection) -> dict[str, str]:
    rows = connection.execute(
        "select language_model_id, weights_file_name from raw.trained_language_models "
        "where weights_file_name is not null"
    ).fetchall()
    return dict(rows)


@lru_cache(maxsize=2)
def trained(job: TrainingJob) -> dict[str, tuple[TrainedLanguageModel, FactWorld | None]]:
    """Train the language models of *job*, by name; kept until others are asked for."""
    if job.fact_seed is not None:
        return {
            spec.language_model_name: train_fact_model(spec, job.fact_seed) for spec in job.specs
        }
    found = train(job.specs, training_text(job.corpus), job.weights_folder, dict(job.known_weights))
    return {each.spec.language_model_name: (each, None) for each in found}


def sentence_documents(
    rule: SentenceRule, documents: Sequence[Document], texts: dict[str, str]
) -> list[SentenceDocument]:
    """Return *documents* as sentences of words."""
    if rule == "prose":
        return [sentence_document(each.document_id, texts[each.text_id]) for each in documents]
    return [
        SentenceDocument(
            each.document_id,
            tuple(tuple(line.split()) for line in texts[each.text_id].splitlines()),
        )
        for each in documents
    ]
