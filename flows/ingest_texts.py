"""Read texts into a test set: each is a document to score, or a reject."""

from __future__ import annotations

from collections.abc import Iterator

import duckdb

from flows.corpora.layouts import TextsLayout
from flows.corpora.text_inputs import TextBatch, open_texts
from flows.ingest_documents import DocumentWriter, FoundDocument
from flows.ingest_ledger import (
    IngestReport,
    Progress,
    begin_ingest,
    describe_ingest,
    done_row_count,
    finish_ingest,
    ingest_reject_counts,
    refuse_second_reading,
    register_study,
)
from flows.study import StudySettings


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
    writer = DocumentWriter(connection, ingest, layout.test_set_name)
    for batch in source.read_texts():
        inserted += writer.write(_documents(batch))
        row_count += len(batch.texts)
        if progress is not None:
            progress(len(batch.texts), batch.byte_count)
    register_study(connection, settings)
    finish_ingest(connection, ingest, row_count)
    rejects = ingest_reject_counts(connection, ingest)
    notes = (*source.notes, *writer.earlier_version_notes())
    return IngestReport(ingest.ingest_id, True, row_count, inserted, rejects, notes)


def _documents(batch: TextBatch) -> Iterator[FoundDocument]:
    for line_number, text, context in zip(
        batch.line_numbers, batch.texts, batch.context_texts, strict=True
    ):
        yield FoundDocument(text, context, batch.file_name, line_number)
