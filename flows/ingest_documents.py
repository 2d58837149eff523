"""Write the documents of a test set: each text once, and a reject for each that is not taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

import duckdb

from flows.corpora.text_columns import text_columns
from flows.ingest_ledger import Ingest, Reject, arrow_rows, write_rejects
from udfs.identity import document_id, text_id
from warehouse.schema import test_set_texts, texts
from warehouse.writers import adopt, upsert


@dataclass(frozen=True)
class FoundDocument:
    """A text as it was read, and where.

    Attributes
    ----------
    text : str or None
        What is scored. None or nothing but white space: it becomes a reject.
    context : str or None
        What stands before it and is not scored.
    file_name : str
    line_number : int
    """

    text: str | None
    context: str | None
    file_name: str
    line_number: int

    @property
    def document_id(self) -> str:
        """Identity of text and context."""
        return document_id(text_id(self.text or ""), self.context or "")


class DocumentWriter:
    """Writes the documents of one ingest, batch by batch, and remembers which it has."""

    def __init__(
        self, connection: duckdb.DuckDBPyConnection, ingest: Ingest, test_set_name: str
    ) -> None:
        self._connection, self._ingest, self._test_set_name = connection, ingest, test_set_name
        self._places: dict[str, str] = {}
        self._file_names: set[str] = set()

    def write(self, documents: Iterable[FoundDocument]) -> int:
        """Write *documents* and return how many are new to the warehouse."""
        kept: list[FoundDocument] = []
        rejects: list[Reject] = []
        for found in documents:
            self._file_names.add(found.file_name)
            place = f"line {found.line_number} of {found.file_name}"
            if found.text is None or not found.text.strip():
                detail = "A text must have a character that is no white space, this one has none."
                rejects.append(_reject("empty_text", detail, found))
            elif (first := self._places.setdefault(found.document_id, place)) != place:
                detail = f"A text is scored once, and this one stands on {first} already."
                rejects.append(_reject("duplicate_text", detail, found))
            else:
                kept.append(found)
        write_rejects(self._connection, self._ingest, rejects)
        if not kept:
            return 0
        strings = [text for found in kept for text in (found.text, found.context) if text]
        upsert(self._connection, texts, text_columns(strings))
        rows = [self._row(found) for found in kept]
        return adopt(self._connection, test_set_texts, arrow_rows(test_set_texts, rows))

    def earlier_version_notes(self) -> list[str]:
        """Return a note where the test set keeps texts that its files no longer hold."""
        rows = self._connection.execute(
            "select test_set_texts.document_id, test_set_texts.file_name "
            "from raw.test_set_texts as test_set_texts "
            "inner join raw.ingests as ingests on test_set_texts.ingest_id = ingests.ingest_id "
            "where test_set_texts.study_name = $study_name "
            "and test_set_texts.test_set_name = $test_set_name "
            "and list_contains($file_names, test_set_texts.file_name) "
            "and ingests.status = 'done' and ingests.ingest_id <> $ingest_id",
            {
                "study_name": self._ingest.study_name,
                "test_set_name": self._test_set_name,
                "file_names": sorted(self._file_names),
                "ingest_id": self._ingest.ingest_id,
            },
        ).fetchall()
        kept = Counter(name for identity, name in rows if identity not in self._places)
        return [
            f"the test set {self._test_set_name} keeps what another version of {name} held "
            f"(texts: {count:,}), scored beside the new ones; for a test set of this version "
            "alone, give another --name"
            for name, count in sorted(kept.items())
        ]

    def _row(self, found: FoundDocument) -> dict[str, object]:
        return {
            "study_name": self._ingest.study_name,
            "test_set_name": self._test_set_name,
            "document_id": found.document_id,
            "text_id": text_id(found.text or ""),
            "context_text_id": text_id(found.context) if found.context else None,
            "file_name": found.file_name,
            "line_number": found.line_number,
            "ingest_id": self._ingest.ingest_id,
        }


def _reject(reason: str, detail: str, found: FoundDocument) -> Reject:
    return Reject("text", reason, detail, found.file_name, found.line_number)
