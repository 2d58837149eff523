"""Read filings into a test set: a row for every one, and Item 7 of those that have one."""

from __future__ import annotations

from collections import Counter

import duckdb

from flows.corpora.edgar_filings import EdgarLayout, open_edgar_filings
from flows.corpora.filing_inputs import FilingInput, FoundFiling, open_filings
from flows.corpora.filings import Item7Status
from flows.corpora.layouts import FilingsLayout
from flows.ingest_documents import DocumentWriter, FoundDocument
from flows.ingest_ledger import (
    Ingest,
    IngestReport,
    Progress,
    arrow_rows,
    begin_ingest,
    describe_ingest,
    done_row_count,
    finish_ingest,
    ingest_reject_counts,
    refuse_second_reading,
    register_study,
)
from flows.study import StudySettings
from warehouse.schema import filings
from warehouse.writers import adopt

BATCH_FILINGS = 50
"""Filings written at once: sections of some 60,000 characters, so a few megabytes."""


def ingest_filings(
    connection: duckdb.DuckDBPyConnection,
    settings: StudySettings,
    layout: FilingsLayout | EdgarLayout,
    progress: Progress | None = None,
) -> IngestReport:
    """Read the filings that *layout* names; extracted sections are texts of its test set.

    Raises
    ------
    CalibraryError
        Nothing lies there, EDGAR cannot be asked, or the same bytes were read with other options
        before.
    """
    source = open_any_filings(layout)
    ingest = describe_ingest(settings, "filings", layout, source)
    row_count = done_row_count(connection, ingest)
    if row_count is not None:
        register_study(connection, settings)
        return IngestReport(ingest.ingest_id, False, row_count, 0, notes=source.notes)
    refuse_second_reading(connection, ingest)
    begin_ingest(connection, ingest)
    writer = FilingWriter(connection, ingest, layout)
    for found in source.read_filings():
        writer.add(found)
        if progress is not None:
            progress(1, found.byte_count)
    writer.write()
    register_study(connection, settings)
    finish_ingest(connection, ingest, writer.row_count)
    return writer.report(source.notes)


def open_any_filings(layout: FilingsLayout | EdgarLayout) -> FilingInput:
    """Find the filings that *layout* names, on disk or at EDGAR."""
    return open_edgar_filings(layout) if isinstance(layout, EdgarLayout) else open_filings(layout)


class FilingWriter:
    """Writes filings in batches, and counts what became of them."""

    def __init__(
        self,
        connection: duckdb.DuckDBPyConnection,
        ingest: Ingest,
        layout: FilingsLayout | EdgarLayout,
    ) -> None:
        self._connection, self._ingest, self._layout = connection, ingest, layout
        self._waiting: list[FoundFiling] = []
        self._documents = DocumentWriter(connection, ingest, layout.test_set_name)
        self._inserted = 0
        self._counts: Counter[str] = Counter()

    @property
    def row_count(self) -> int:
        """Filings taken in so far."""
        return sum(self._counts.values())

    def add(self, found: FoundFiling) -> None:
        """Take one filing in; every `BATCH_FILINGS` are written."""
        self._waiting.append(found)
        self._counts[found.section.item_7_status.value] += 1
        if len(self._waiting) == BATCH_FILINGS:
            self.write()

    def write(self) -> None:
        """Write what waits: texts and documents first, then the filings' own rows."""
        self._documents.write(
            _document(each)
            for each in self._waiting
            if each.section.item_7_status is Item7Status.EXTRACTED
        )
        rows = [self._filing_row(each) for each in self._waiting]
        self._inserted += adopt(self._connection, filings, arrow_rows(filings, rows))
        self._waiting = []

    def report(self, notes: tuple[str, ...] = ()) -> IngestReport:
        """Return what was read; filings without Item 7 stand among the rejects by their status."""
        rejects = ingest_reject_counts(self._connection, self._ingest)
        rejects.update(
            {name: n for name, n in self._counts.items() if name != Item7Status.EXTRACTED}
        )
        return IngestReport(
            self._ingest.ingest_id, True, self.row_count, self._inserted, rejects, notes
        )

    def _filing_row(self, found: FoundFiling) -> dict[str, object]:
        section, header = found.section, found.section.header
        is_extracted = section.item_7_status is Item7Status.EXTRACTED
        return {
            "study_name": self._ingest.study_name,
            "test_set_name": self._layout.test_set_name,
            "filing_id": found.filing_id,
            "accession_number": header.accession_number,
            "cik": header.cik,
            "form_name": header.form_name,
            "period_of_report": header.period_of_report,
            "fiscal_year": section.fiscal_year,
            "item_7_status": section.item_7_status.value,
            "reason": section.reason,
            "filing_character_count": section.filing_character_count,
            "item_7_character_count": section.item_7_character_count,
            "has_tables": self._layout.has_tables,
            "document_id": _document(found).document_id if is_extracted else None,
            "file_name": section.file_name,
            "line_number": found.line_number,
            "ingest_id": self._ingest.ingest_id,
        }


def _document(found: FoundFiling) -> FoundDocument:
    return FoundDocument(found.section.text, None, found.section.file_name, found.line_number)
