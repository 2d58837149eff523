"""Read texts into a test set: each is a document to score, or a reject."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from flows.corpora.layouts import TextsLayout
from flows.corpora.text_columns import text_columns
from flows.corpora.text_inputs import TextBatch, open_texts
from flows.ingest_ledger import (
    Ingest,
    IngestReport,
    Progress,
    Reject,
    arrow_rows,
    begin_ingest,
    describe_ingest,
    done_row_count,
    finish_ingest,
    ingest_reject_counts,
    refuse_second_reading,
    register_study,
    write_rejects,
)
from flows.study import StudySettings
from udfs.identity import document_id, text_id
from warehouse.schema import test_set_texts, texts
from warehouse.writers import adopt, upsert


def ingest_texts(
    connection: duckdb.DuckDBPyConnection,
    settings: StudySettings,
    layout: TextsLayout,
    progress: Progress | None = None,
) -> IngestReport:
    """Read the texts that *layout* names into the test set of its name.

    Raises
    ------
    CalibraryError
        The files hold no texts, or were read with other options before.
    """
    source = open_texts(layout)
    ingest = describe_ingest(settings, "texts", layout, source)
    row_count = done_row_count(connection, ingest)
    if row_count is not None:
        register_study(connection, settings)
        return IngestReport(ingest.ingest_id, False, row_count, 0, notes=source.notes)
    refuse_second_reading(connection, ingest)
    begin_ingest(connection, ingest)
    inserted = row_count = 0
    seen: dict[str, str] = {}
    for batch in source.read_texts():
        inserted += _write(connection, ingest, layout.test_set_name, batch, seen)
        row_count += len(batch.texts)
        if progress is not None:
            progress(len(batch.texts), batch.byte_count)
    register_study(connection, settings)
    finish_ingest(connection, ingest, row_count)
    rejects = ingest_reject_counts(connection, ingest)
    return IngestReport(ingest.ingest_id, True, row_count, inserted, rejects, source.notes)


def _write(
    connection: duckdb.DuckDBPyConnection,
    ingest: Ingest,
    test_set_name: str,
    batch: TextBatch,
    seen: dict[str, str],
) -> int:
    """Write the documents of *batch*, and a reject for each empty or repeated one."""
    rejects = []
    kept: list[tuple[str, str, str | None, int]] = []
    for line, text, context in zip(
        batch.line_numbers, batch.texts, batch.context_texts, strict=True
    ):
        if text is None or not text.strip():
            detail = "A text must have a character that is no white space, this one has none."
            rejects.append(Reject("text", "empty_text", detail, batch.file_name, line))
            continue
        identity = document_id(text_id(text), context or "")
        place = f"line {line} of {batch.file_name}"
        if identity in seen:
            detail = f"A text is scored once, and this one stands on {seen[identity]} already."
            rejects.append(Reject("text", "duplicate_text", detail, batch.file_name, line))
            continue
        seen[identity] = place
        kept.append((identity, text, context or None, line))
    write_rejects(connection, ingest, rejects)
    if not kept:
        return 0
    upsert(connection, texts, text_columns(list(_texts_of(kept))))
    rows = [
        {
            "study_name": ingest.study_name,
            "test_set_name": test_set_name,
            "document_id": identity,
            "text_id": text_id(text),
            "context_text_id": None if context is None else text_id(context),
            "file_name": batch.file_name,
            "line_number": line,
            "ingest_id": ingest.ingest_id,
        }
        for identity, text, context, line in kept
    ]
    return adopt(connection, test_set_texts, arrow_rows(test_set_texts, rows))


def _texts_of(kept: list[tuple[str, str, str | None, int]]) -> Iterator[str]:
    for _, text, context, _ in kept:
        yield text
        if context is not None:
            yield context
