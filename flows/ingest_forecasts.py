"""Read forecasts made elsewhere into a test set: every one is a scored token, or a reject."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flows.corpora.errors import InvalidForecastError
from flows.corpora.forecast_inputs import ForecastBatch, open_forecasts
from flows.corpora.layouts import ForecastsLayout
from flows.ingest_ledger import (
    Ingest,
    IngestReport,
    Progress,
    Reject,
    begin_ingest,
    describe_ingest,
    done_row_count,
    finish_ingest,
    ingest_reject_counts,
    register_study,
    write_rejects,
)
from flows.sketch_columns import sketch_columns
from flows.study import StudySettings
from udfs.identity import content_id
from udfs.token_scores import token_scores
from warehouse.schema import scored_tokens, scorings
from warehouse.writers import upsert

Fault: TypeAlias = "tuple[str, str] | None"
"""Reason and sentence of a reject."""


def ingest_forecasts(
    connection: duckdb.DuckDBPyConnection,
    settings: StudySettings,
    layout: ForecastsLayout,
    progress: Progress | None = None,
) -> IngestReport:
    """Read the forecasts that *layout* names as scored tokens of the test set of that name.

    Each file is one language model: the one that is named, or the file's own name.

    Raises
    ------
    CalibraryError
        The file holds no forecasts, or the language model has others on this test set already.
    """
    source = open_forecasts(layout)
    ingest = describe_ingest(settings, "forecasts", layout, source)
    row_count = done_row_count(connection, ingest)
    if row_count is not None:
        register_study(connection, settings)
        return IngestReport(ingest.ingest_id, False, row_count, 0, notes=source.notes)
    models = {name: layout.language_model or _stem(name) for name in source.file_names}
    _refuse_second_forecasts(connection, ingest, models)
    begin_ingest(connection, ingest)
    inserted = row_count = 0
    next_index: dict[str, int] = dict.fromkeys(models, 0)
    for batch in source.read_forecasts():
        first = next_index[batch.file_name]
        inserted += _write(connection, ingest, batch, models[batch.file_name], first)
        next_index[batch.file_name] += len(batch.line_numbers)
        row_count += len(batch.line_numbers)
        if progress is not None:
            progress(len(batch.line_numbers), batch.byte_count)
    register_study(connection, settings)
    finish_ingest(connection, ingest, row_count)
    rejects = ingest_reject_counts(connection, ingest)
    notes = [*source.notes]
    if impossible := rejects.get("impossible_outcome"):
        notes.append(
            f"{impossible:,} forecasts gave what came a probability of 0: all of them misses, "
            "which accuracy, confidence and every error leave out and rejected_count counts"
        )
    return IngestReport(ingest.ingest_id, True, row_count, inserted, rejects, tuple(notes))


def _refuse_second_forecasts(
    connection: duckdb.DuckDBPyConnection, ingest: Ingest, models: dict[str, str]
) -> None:
    names = list(models.values())
    doubled = sorted({name for name in names if names.count(name) > 1})
    rows = connection.execute(
        "select scorings.language_model_name from raw.scorings as scorings "
        "inner join raw.ingests as ingests on scorings.ingest_id = ingests.ingest_id "
        "where scorings.study_name = $name and ingests.status = 'done'",
        {"name": ingest.study_name},
    ).fetchall()
    known = doubled or sorted({row[0] for row in rows} & set(names))
    if known:
        raise InvalidForecastError(
            f"a language model must have one file of forecasts per test set, got another of "
            f"{known[0]!r} for {ingest.study_name!r}; give it another name with --language-model, "
            "or the test set with --name."
        )


def _stem(file_name: str) -> str:
    """Return the file's name without its endings: of ``a.b.csv.gz`` it is ``a.b``."""
    path = Path(file_name)
    path = path.with_suffix("") if path.suffix in {".gz", ".zst", ".zstd"} else path
    return path.stem


def _write(
    connection: duckdb.DuckDBPyConnection,
    ingest: Ingest,
    batch: ForecastBatch,
    language_model_name: str,
    first_index: int,
) -> int:
    """Write the forecasts of *batch* that are some, and a reject for each of the others."""
    scoring_id = content_id("scoring", ingest.ingest_id, batch.file_name)
    outcome_count = None if batch.probabilities is None else batch.probabilities.shape[1]
    scoring = {
        "scoring_id": scoring_id,
        "study_name": ingest.study_name,
        "test_set_name": ingest.study_name,
        "language_model_name": language_model_name,
        "outcome_count": outcome_count,
        "ingest_id": ingest.ingest_id,
        "file_name": batch.file_name,
    }
    upsert(connection, scorings, [scoring])
    faults = _faults_of_softmax(batch) if batch.confidence is None else _faults_of_confidence(batch)
    places = np.array([place for place, fault in enumerate(faults) if fault is None], dtype=np.intp)
    scores = _scores(batch, places)
    tokens = {
        "scoring_id": pa.array([scoring_id] * len(places), pa.string()),
        "document_id": pa.array([scoring_id] * len(places), pa.string()),
        "token_index": pa.array(first_index + places, pa.int32()),
        "outcome_label": pa.array([batch.outcome_labels[place] for place in places], pa.string()),
        **scores,
    }
    rejects = [
        Reject("token", *fault, batch.file_name, int(batch.line_numbers[place]))
        for place, fault in enumerate(faults)
        if fault is not None
    ]
    write_rejects(connection, ingest, rejects)
    return upsert(connection, scored_tokens, pa.table(tokens))


def _faults_of_confidence(batch: ForecastBatch) -> list[Fault]:
    """Say of every top label why it is no forecast, None where it is one."""
    pairs = zip(batch.outcome_labels, batch.top_labels or (), strict=True)
    values = [] if batch.confidence is None else batch.confidence.tolist()
    faults: list[Fault] = []
    for value, labels in zip(values, pairs, strict=True):
        if None in labels:
            faults.append(("not_a_probability", "A forecast must have both labels, one is empty."))
        elif not 0.0 <= value <= 1.0:
            shown = "no number" if np.isnan(value) else f"{value}"
            detail = f"A confidence must be in [0, 1], and this one is {shown}."
            faults.append(("not_a_probability", detail))
        else:
            faults.append(None)
    return faults


def _faults_of_softmax(batch: ForecastBatch) -> list[Fault]:
    """Say the same of every row of probabilities."""
    rows = _matrix(batch)
    outcomes = _outcomes(batch, rows.shape[1])
    top = rows.max(axis=1)
    own = rows[np.arange(len(rows)), outcomes]
    faults: list[Fault] = []
    for place in range(len(rows)):
        if not 0.0 <= top[place] <= 1.0 or not np.isfinite(rows[place]).all():
            detail = f"Probabilities must be in [0, 1], and the largest is {top[place]}."
            faults.append(("not_a_probability", detail))
        elif own[place] == 0.0:
            detail = "What came must have a probability above 0: its log-probability is -inf."
            faults.append(("impossible_outcome", detail))
        else:
            faults.append(None)
    return faults


def _scores(batch: ForecastBatch, places: NDArray[np.intp]) -> dict[str, pa.Array]:
    """Return the columns that the forecasts at *places* can fill; the others stay NULL."""
    if batch.confidence is not None:
        top_labels = [(batch.top_labels or ())[place] for place in places]
        pairs = zip(places, top_labels, strict=True)
        hits = [batch.outcome_labels[place] == top for place, top in pairs]
        return {
            "top_label": pa.array(top_labels, pa.string()),
            "confidence": pa.array(batch.confidence[places], pa.float64()),
            "is_hit": pa.array(hits, pa.bool_()),
        }
    rows = _matrix(batch)
    outcomes = _outcomes(batch, rows.shape[1])[places]
    found = token_scores(rows[places], outcomes)
    return {
        "top_label": pa.array([str(label) for label in found.top_label.tolist()], pa.string()),
        "confidence": pa.array(found.confidence),
        "is_hit": pa.array(found.top_label == outcomes),
        "log_probability_nats": pa.array(found.log_probability_nats),
        "entropy_nats": pa.array(found.entropy_nats.astype(np.float32)),
        "rank": pa.array(found.rank.astype(np.int32)),
        "mass_ahead": pa.array(found.mass_ahead),
        **sketch_columns(found.temperature_sketch, found.mass_ahead_sketch),
    }


def _matrix(batch: ForecastBatch) -> NDArray[np.float64]:
    return np.empty((0, 1)) if batch.probabilities is None else batch.probabilities


def _outcomes(batch: ForecastBatch, outcome_count: int) -> NDArray[np.int64]:
    """Return the labels that came as numbers of columns."""
    found = np.empty(len(batch.outcome_labels), dtype=np.int64)
    for place, label in enumerate(batch.outcome_labels):
        number = int(label) if label is not None and label.isdecimal() else -1
        if not 0 <= number < outcome_count:
            raise InvalidForecastError(
                f"a label must be the number of a column, 0 to {outcome_count - 1}, got {label!r} "
                f"on line {batch.line_numbers[place]} of {batch.file_name}."
            )
        found[place] = number
    return found
