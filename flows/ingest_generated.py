"""Texts that are written from a seed: test sets of synthetic filings and of facts."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import lru_cache

import duckdb
import numpy as np

from flows.corpora.sentence_documents import SentenceDocument
from flows.corpora.synthetic_filings import FilingGenerator, FilingSettings
from flows.ingest_documents import DocumentWriter, FoundDocument
from flows.ingest_ledger import (
    IngestReport,
    Progress,
    begin_ingest,
    describe_ingest,
    done_row_count,
    finish_ingest,
    ingest_reject_counts,
    register_study,
)
from flows.language_models.fact_model import FactWorld, draw_fact_world
from flows.study import StudySettings

KIND = "synthetic_filings"


@dataclass(frozen=True)
class SyntheticFilingsLayout:
    """A test set of the generator of synthetic filings.

    Attributes
    ----------
    test_set_name : str
    seed : int
        Of the training text.
    settings : FilingSettings
    document_count : int
    training_document_count : int or None
        Documents that the same generator wrote before, for training. None: a generator of its own,
        whose stream is spawned from the seed.
    """

    test_set_name: str
    seed: int
    settings: FilingSettings
    document_count: int
    training_document_count: int | None

    def texts(self) -> list[str]:
        """Write the documents, a sentence a line."""
        own, shifted = np.random.default_rng(self.seed).spawn(2)
        if self.training_document_count is None:
            generator = FilingGenerator(self.settings, shifted)
        else:
            generator = FilingGenerator(self.settings, own)
            generator.documents(self.training_document_count)
        return [document.text for document in generator.documents(self.document_count)]


@dataclass(frozen=True)
class FactProbesLayout:
    """A test set of one document: every fact of a seed, a sentence a line."""

    test_set_name: str
    seed: int

    def texts(self) -> list[str]:
        """Write the facts down, all of them true."""
        world = draw_fact_world(np.random.default_rng(self.seed))
        return [
            "".join(
                f"the head office of company {subject} is in {name}\n"
                for subject, name in enumerate(object_names(world))
            )
        ]


GeneratedLayout = SyntheticFilingsLayout | FactProbesLayout


def object_names(world: FactWorld) -> list[str]:
    """Return the name of every subject's object."""
    return [f"place-{place}" for place in world.object_of_subject.tolist()]


@dataclass(frozen=True)
class GeneratedInput:
    """Texts of one layout as an input like any other."""

    file_names: tuple[str, ...]
    content_sha256: str
    texts: tuple[str, ...]


@lru_cache(maxsize=16)
def open_generated(layout: GeneratedLayout) -> GeneratedInput:
    """Write the texts of *layout* and fingerprint them."""
    written = tuple(layout.texts())
    name = f"{type(layout).__name__.removesuffix('Layout')}, seed {layout.seed}"
    return GeneratedInput((f"{layout.test_set_name}: {name}",), texts_sha256(written), written)


def texts_sha256(written: tuple[str, ...]) -> str:
    """Return the SHA-256 over the lengths and contents of texts."""
    digest = hashlib.sha256()
    for text in written:
        digest.update(f"{len(text)}\n{text}".encode())
    return digest.hexdigest()


@lru_cache(maxsize=4)
def training_documents(
    seed: int, settings: FilingSettings, document_count: int
) -> tuple[SentenceDocument, ...]:
    """Write the training text of a seed; its continuation goes on where this stops."""
    own, _ = np.random.default_rng(seed).spawn(2)
    return tuple(FilingGenerator(settings, own).documents(document_count))


def ingest_generated(
    connection: duckdb.DuckDBPyConnection,
    settings: StudySettings,
    layout: GeneratedLayout,
    progress: Progress | None = None,
) -> IngestReport:
    """Write the texts of *layout* into the test set of its name; copies become rejects.

    Texts that the same test set had from other knobs or another seed no longer count.
    """
    source = open_generated(layout)
    ingest = describe_ingest(settings, KIND, layout, source)
    row_count = done_row_count(connection, ingest)
    if row_count is not None:
        register_study(connection, settings)
        return IngestReport(ingest.ingest_id, False, row_count, 0)
    begin_ingest(connection, ingest)
    connection.execute(
        "update raw.ingests set status = 'superseded' where study_name = $study_name "
        "and ingest_kind = $kind and status = 'done' "
        "and json_extract_string(options_json, '$.test_set_name') = $name",
        {"study_name": ingest.study_name, "kind": KIND, "name": layout.test_set_name},
    )
    inserted = DocumentWriter(connection, ingest, layout.test_set_name).write(
        FoundDocument(text, None, source.file_names[0], place)
        for place, text in enumerate(source.texts, start=1)
    )
    if progress is not None:
        progress(len(source.texts), 0)
    register_study(connection, settings)
    finish_ingest(connection, ingest, len(source.texts))
    rejects = ingest_reject_counts(connection, ingest)
    return IngestReport(ingest.ingest_id, True, len(source.texts), inserted, rejects)
