"""Which documents a test set has, which of them a scoring lacks, and what identifies it."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import duckdb
import orjson

from flows.language_models.errors import LanguageModelError
from flows.language_models.ready_made import LanguageModelEntry
from flows.language_models.samples import LanguageModelIdentity
from flows.language_models.templates import PLAIN_FRAME
from flows.language_models.token_scoring import WindowSettings
from flows.study_scoring import TestSetChoice
from udfs.identity import content_id, document_id
from warehouse.connection import checkpoint
from warehouse.migrations import utc_now
from warehouse.schema import ingests, language_models
from warehouse.writers import upsert

KIND = "scored_tokens"

_STORIES = """
select distinct on (stories.text_id, prompts.prompt_id)
    stories.text_id,
    texts.character_count,
    prompts.prompt_text,
    story_selections.prompt_rank,
    stories.prompt_id,
    coalesce(story_selections.draw_index, stories.sample_index) as story_place,
    stories.story_id
from raw.stories as stories
inner join raw.ingests as ingests on stories.ingest_id = ingests.ingest_id
inner join raw.studies as studies on stories.study_name = studies.study_name
inner join raw.texts as texts on stories.text_id = texts.text_id
left join raw.prompts as prompts
    on stories.study_name = prompts.study_name and stories.prompt_id = prompts.prompt_id
left join raw.story_selections as story_selections
    on stories.study_name = story_selections.study_name
    and stories.story_id = story_selections.story_id
    and studies.selection_id = story_selections.selection_id
where stories.study_name = $study_name
    and stories.story_source_name = $story_source
    and ingests.status = 'done'
    and stories.status in ('ok', 'truncated')
    and (
        stories.story_kind = 'generated'
        or studies.selection_id is null
        or story_selections.story_id is not null
    )
order by stories.text_id, prompts.prompt_id, stories.story_id
"""

_TEXTS = """
select test_set_texts.document_id, test_set_texts.text_id, texts.character_count,
    test_set_texts.context_text_id
from raw.test_set_texts as test_set_texts
inner join raw.ingests as ingests on test_set_texts.ingest_id = ingests.ingest_id
inner join raw.texts as texts on test_set_texts.text_id = texts.text_id
where test_set_texts.study_name = $study_name
    and test_set_texts.test_set_name = $test_set_name
    and ingests.status = 'done'
order by test_set_texts.file_name, test_set_texts.line_number, test_set_texts.document_id
"""


@dataclass(frozen=True)
class Document:
    """A document of a test set, its texts not yet read."""

    document_id: str
    document_index: int
    text_id: str
    character_count: int
    context_text_id: str | None = None
    context_text: str = ""
    """What stands before the text, where it is no text of the warehouse."""


@dataclass(frozen=True)
class Scoring:
    """One language model reading one test set in one way."""

    study_name: str
    test_set: TestSetChoice
    entry: LanguageModelEntry
    identity: LanguageModelIdentity
    windows: WindowSettings

    @property
    def shown_name(self) -> str:
        """``<test_set_name>/<language_model_name>``."""
        return f"{self.test_set.name}/{self.identity.language_model_name}"

    @cached_property
    def options_json(self) -> str:
        """All that a score depends on beside the document itself."""
        counts = {"parameter_count": None, "context_tokens": None}
        options = {
            "test_set_name": self.test_set.name,
            "language_model": asdict(self.identity) | counts,
            "window_tokens": self.windows.window_tokens,
            "overlap_tokens": self.windows.overlap_tokens,
        }
        return orjson.dumps(options, option=orjson.OPT_SORT_KEYS).decode()

    @cached_property
    def ingest_id(self) -> str:
        """Identity of this way to score for this study."""
        return content_id("ingest", self.study_name, KIND, self.options_json)

    def row(self, outcome_count: int | None) -> dict[str, object]:
        """Return its row of ``raw.scorings``."""
        return {
            "scoring_id": self.scoring_id,
            "study_name": self.study_name,
            "test_set_name": self.test_set.name,
            "language_model_name": self.identity.language_model_name,
            "outcome_count": outcome_count,
            "ingest_id": self.ingest_id,
            "file_name": self.shown_name,
            "language_model_id": self.identity.language_model_id,
            "window_tokens": self.windows.window_tokens,
            "overlap_tokens": self.windows.overlap_tokens,
        }

    @cached_property
    def scoring_id(self) -> str:
        """Identity of the scored tokens."""
        return content_id("scoring", self.ingest_id)


def documents_of(
    connection: duckdb.DuckDBPyConnection, study_name: str, test_set: TestSetChoice
) -> list[Document]:
    """Return the documents of *test_set* in its order.

    Raises
    ------
    LanguageModelError
        There are none.
    """
    if test_set.story_source is None:
        found = _texts(connection, study_name, test_set)
    else:
        found = _stories(connection, study_name, test_set)
    if not found:
        origin = test_set.story_source or "texts"
        raise LanguageModelError(
            f"a test set must have documents, {test_set.name} of {study_name} has none from "
            f"{origin}; ingest or generate them first."
        )
    return found[: test_set.document_count]


def _texts(
    connection: duckdb.DuckDBPyConnection, study_name: str, test_set: TestSetChoice
) -> list[Document]:
    bound = {"study_name": study_name, "test_set_name": test_set.name}
    return [
        Document(document_id, index, text_id, character_count, context_text_id)
        for index, (document_id, text_id, character_count, context_text_id) in enumerate(
            connection.execute(_TEXTS, bound).fetchall()
        )
    ]


def _stories(
    connection: duckdb.DuckDBPyConnection, study_name: str, test_set: TestSetChoice
) -> list[Document]:
    """Return the stories by prompt rank; the same text under one prompt is one document."""
    rows = connection.execute(
        f"select * from ({_STORIES}) "  # noqa: S608 - our own text
        "order by prompt_rank nulls last, prompt_id, story_place nulls last, story_id",
        {"study_name": study_name, "story_source": test_set.story_source},
    ).fetchall()
    found: dict[str, Document] = {}
    for text_id, character_count, prompt_text, *_ in rows:
        context = PLAIN_FRAME.format(prompt=prompt_text or "")
        context = context if test_set.context == "prompt" else ""
        identity = document_id(text_id, context)
        if identity not in found:
            found[identity] = Document(
                identity, len(found), text_id, character_count, context_text=context
            )
    return list(found.values())


def missing_batches(
    connection: duckdb.DuckDBPyConnection,
    scoring: Scoring,
    documents: Sequence[Document],
    batch_characters: int,
) -> list[list[Document]]:
    """Return the documents that *scoring* lacks, in batches.

    Batches are cut from the whole test set, longest documents first, so that a run that was
    interrupted goes on in the same shapes.
    """
    rows = connection.execute(
        "select document_id from raw.scored_documents where scoring_id = $scoring_id",
        {"scoring_id": scoring.scoring_id},
    ).fetchall()
    known = {row[0] for row in rows}
    batches: list[list[Document]] = []
    size = batch_characters
    for document in sorted(documents, key=lambda each: (-each.character_count, each.document_id)):
        if size + document.character_count > batch_characters:
            batches.append([])
            size = 0
        batches[-1].append(document)
        size += document.character_count
    missing = ([each for each in batch if each.document_id not in known] for batch in batches)
    return [batch for batch in missing if batch]


def is_registered(
    connection: duckdb.DuckDBPyConnection, scoring: Scoring, documents: Sequence[Document]
) -> bool:
    """Say whether *scoring* is done and knows which documents are in its test set."""
    rows = connection.execute(
        "select scored_documents.document_id, scored_documents.document_index "
        "from raw.scored_documents as scored_documents "
        "inner join raw.ingests as ingests on ingests.ingest_id = $ingest_id "
        "where scored_documents.scoring_id = $scoring_id and ingests.status = 'done' "
        "and scored_documents.document_index is not null",
        {"scoring_id": scoring.scoring_id, "ingest_id": scoring.ingest_id},
    ).fetchall()
    return dict(rows) == {each.document_id: each.document_index for each in documents}


def begin_scoring(connection: duckdb.DuckDBPyConnection, scoring: Scoring) -> None:
    """Write down what is scored by what; its tokens do not count before `finish_scoring`.

    Raises
    ------
    LanguageModelError
        Imported forecasts of the test set have the same language model name.
    """
    _refuse_imported_twin(connection, scoring)
    model = {"language_model_id": scoring.identity.language_model_id} | asdict(scoring.identity)
    upsert(connection, language_models, [model])
    row = {
        "ingest_id": scoring.ingest_id,
        "study_name": scoring.study_name,
        "ingest_kind": KIND,
        "file_name": scoring.shown_name,
        "content_sha256": hashlib.sha256(scoring.options_json.encode()).hexdigest(),
        "options_json": scoring.options_json,
        "status": "running",
        "started_at": utc_now(),
    }
    upsert(connection, ingests, [row], update=["status"])


def finish_scoring(
    connection: duckdb.DuckDBPyConnection,
    scoring: Scoring,
    documents: Sequence[Document],
) -> None:
    """Make the tokens of *documents* count, and those of no other document or older scoring."""
    places = {each.document_id: each.document_index for each in documents}
    connection.execute(
        "update raw.scored_documents set document_index = "
        "map_extract_value(map($ids, $places), document_id) where scoring_id = $scoring_id",
        {
            "ids": list(places),
            "places": list(places.values()),
            "scoring_id": scoring.scoring_id,
        },
    )
    connection.execute(
        "update raw.ingests set status = 'superseded' where study_name = $study_name "
        "and ingest_kind = $kind and file_name = $name and ingest_id <> $ingest_id",
        {
            "study_name": scoring.study_name,
            "kind": KIND,
            "name": scoring.shown_name,
            "ingest_id": scoring.ingest_id,
        },
    )
    connection.execute(
        "update raw.ingests set status = 'done' where ingest_id = $ingest_id",
        {"ingest_id": scoring.ingest_id},
    )
    checkpoint(connection)


def _refuse_imported_twin(connection: duckdb.DuckDBPyConnection, scoring: Scoring) -> None:
    row = connection.execute(
        "select any_value(scorings.file_name) from raw.scorings as scorings "
        "inner join raw.ingests as ingests on scorings.ingest_id = ingests.ingest_id "
        "where scorings.study_name = $study_name and scorings.test_set_name = $test_set_name "
        "and scorings.language_model_name = $name and ingests.ingest_kind = 'forecasts' "
        "and ingests.status = 'done'",
        {
            "study_name": scoring.study_name,
            "test_set_name": scoring.test_set.name,
            "name": scoring.identity.language_model_name,
        },
    ).fetchone()
    if row is not None and row[0] is not None:
        raise LanguageModelError(
            "forecasts must be either imported or scored here, the test set "
            f"{scoring.test_set.name} has those of {scoring.identity.language_model_name} from "
            f"{row[0]} already; give the language model another name in the study file."
        )
