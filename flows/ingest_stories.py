"""Read human stories into a study, then select among them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Sequence
from dataclasses import dataclass

import duckdb
import pyarrow as pa

from flows.corpora.layouts import StoriesLayout
from flows.corpora.story_inputs import StoryBatch, StoryInput, open_stories
from flows.corpora.text_columns import text_columns
from flows.ingest_ledger import (
    Ingest,
    IngestReport,
    Progress,
    Reject,
    begin_ingest,
    bulk_loading,
    describe_ingest,
    done_row_count,
    earlier_version_notes,
    finish_ingest,
    ingest_reject_counts,
    known_copies,
    refuse_second_reading,
    register_study,
    write_rejects,
)
from flows.ingest_pipeline import texts_written
from flows.ingest_prompts import PromptWriter, prompt_rows
from flows.ingest_selection import (
    SelectionReport,
    adopt_selection,
    count_tokens,
    select_stories,
    write_selection,
)
from flows.study import StudySettings
from udfs.identity import content_ids, prompt_id
from warehouse.schema import stories
from warehouse.writers import adopt

HUMAN = "human"


def ingest_stories(
    connection: duckdb.DuckDBPyConnection,
    settings: StudySettings,
    layout: StoriesLayout,
    progress: Progress | None = None,
    *,
    is_selecting: bool = True,
) -> IngestReport:
    """Read the stories that *layout* names into the study and select among all it has.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Connection to the work file.
    settings : StudySettings
        The study; its row is written where it is new or changed.
    layout : StoriesLayout
        Where the stories lie and which column means what.
    progress : callable, optional
        Called with the records and bytes of each batch.
    is_selecting : bool
        False where more stories of the study follow: call `select_stories` after the last.

    Raises
    ------
    CalibraryError
        The input cannot be used, or fewer than four prompts survive the selection. Nothing of
        this ingest counts then.
    """
    source = open_stories(layout)
    ingest = describe_ingest(settings, "stories", layout, source)
    row_count, written = done_row_count(connection, ingest), 0
    is_new = row_count is None
    if row_count is None:
        refuse_second_reading(connection, ingest)
        begin_ingest(connection, ingest)
        row_count, written = write_stories(connection, ingest, source, progress)
        selected: SelectionReport | None = None
        if is_selecting:
            counted = count_tokens(connection, settings, ingest.ingest_id)
            selection = write_selection(connection, settings, ingest.ingest_id)
        register_study(connection, settings)
        finish_ingest(connection, ingest, row_count)
        if is_selecting:
            selected = adopt_selection(connection, settings, selection, counted)
    else:
        selected = select_stories(connection, settings) if is_selecting else None
    counts = ingest_reject_counts(connection, ingest)
    notes = [*source.notes, *(earlier_version_notes(connection, ingest) if is_new else ())]
    if selected is not None:
        counts += Counter(selected.reject_counts)
        notes.append(
            f"{selected.story_count:,} stories of {selected.prompt_count:,} prompts selected"
            + ("" if is_new or not selected.is_new else ", drawn anew: the selection has changed")
        )
    return IngestReport(ingest.ingest_id, is_new, row_count, written, counts, tuple(notes))


@dataclass(frozen=True)
class _PreparedStories:
    prompts: pa.Table
    texts: pa.Table
    stories: pa.Table
    rejects: list[Reject]
    record_count: int
    byte_count: int


def write_stories(
    connection: duckdb.DuckDBPyConnection,
    ingest: Ingest,
    source: StoryInput,
    progress: Progress | None = None,
) -> tuple[int, int]:
    """Stream the prompts, texts and stories of *source* into the warehouse.

    Returns
    -------
    tuple of int
        Records read, and stories written.
    """
    row_count = written = 0
    prompt_writer = PromptWriter(connection, ingest)
    known: dict[str, str] | None = None
    with bulk_loading(connection):
        if source.read_prompts is not None:
            known = prompt_writer.write_file(source.read_prompts(), progress)
        with texts_written(connection, _prepared(ingest, source, known)) as batches:
            for batch in batches:
                prompt_writer.write(batch.prompts)
                inserted = adopt(connection, stories, batch.stories)
                found = batch.rejects
                if inserted < batch.stories.num_rows:
                    found = [*found, *_copies(connection, ingest, batch.stories)]
                write_rejects(connection, ingest, found)
                row_count += batch.record_count
                written += inserted
                if progress is not None:
                    progress(batch.record_count, batch.byte_count)
    return row_count, written


def _prepared(
    ingest: Ingest, source: StoryInput, known: dict[str, str] | None
) -> Generator[_PreparedStories, None, None]:
    prompt_file = source.file_names[0]
    for batch in source.read_stories():
        yield _prepare(ingest, batch, known, prompt_file)


def _prepare(
    ingest: Ingest, batch: StoryBatch, known: dict[str, str] | None, prompt_file: str
) -> _PreparedStories:
    """Give every record its identity, or its reject."""
    kept: list[int] = []
    prompt_ids: list[str] = []
    found: list[Reject] = []
    ids_of_prompts: dict[str, str] = {}
    for index, (source_id, prompt, text) in enumerate(
        zip(batch.source_prompt_ids, batch.prompts, batch.texts, strict=True)
    ):
        identity = None
        if known is not None:
            identity = known.get(source_id) if source_id is not None else None
        elif prompt is not None:
            identity = ids_of_prompts.get(prompt)
            if identity is None:
                identity = ids_of_prompts[prompt] = prompt_id(prompt)
        if identity is None or text is None:
            found.append(_reject(batch, index, identity, known is not None, prompt_file))
            continue
        kept.append(index)
        prompt_ids.append(identity)
    story_texts = text_columns([batch.texts[index] or "" for index in kept])
    has_own_prompts = known is None
    return _PreparedStories(
        prompt_rows(
            ingest,
            prompt_ids if has_own_prompts else [],
            [batch.source_prompt_ids[index] for index in kept],
            [batch.prompts[index] for index in kept],
        ),
        story_texts,
        _story_rows(ingest, batch, kept, prompt_ids, story_texts),
        found,
        len(batch.texts),
        batch.byte_count,
    )


def _reject(
    batch: StoryBatch, index: int, identity: str | None, is_joined: bool, prompt_file: str
) -> Reject:
    source_id = batch.source_prompt_ids[index]
    if identity is not None:
        reason, detail = "empty_story", "The record has no text."
    elif is_joined and source_id is not None:
        reason = "unknown_prompt"
        detail = f"No prompt in {prompt_file} has the id {source_id[:80]!r}."
    else:
        reason = "unknown_prompt"
        detail = f"The record has no prompt{' id' if is_joined else ''}."
    place = (batch.file_name, int(batch.line_numbers[index]))
    return Reject("story", reason, detail, *place, prompt_id=identity)


def _story_rows(
    ingest: Ingest,
    batch: StoryBatch,
    kept: Sequence[int],
    prompt_ids: Sequence[str],
    story_texts: pa.Table,
) -> pa.Table:
    """Return ledger rows; every story of one batch shares what makes it human."""
    size = len(kept)
    text_ids: list[str] = story_texts.column("text_id").to_pylist()
    word_counts: list[int] = story_texts.column("word_count").to_pylist()
    return pa.table(
        {
            "study_name": pa.array([ingest.study_name] * size, pa.string()),
            "story_id": pa.array(content_ids(HUMAN, prompt_ids, text_ids), pa.string()),
            "prompt_id": pa.array(prompt_ids, pa.string()),
            "text_id": story_texts.column("text_id"),
            "story_kind": pa.array([HUMAN] * size, pa.string()),
            "story_source_name": pa.array([HUMAN] * size, pa.string()),
            "status": pa.array(["ok" if count else "empty" for count in word_counts], pa.string()),
            "file_name": pa.array([batch.file_name] * size, pa.string()),
            "line_number": pa.array([batch.line_numbers[index] for index in kept], pa.int64()),
            "ingest_id": pa.array([ingest.ingest_id] * size, pa.string()),
        }
    )


def _copies(connection: duckdb.DuckDBPyConnection, ingest: Ingest, rows: pa.Table) -> list[Reject]:
    """Return the rows whose story another line of this or another input already brought."""
    return [
        Reject(
            "story",
            "duplicate_story",
            f"The story equals the one on line {copy.known_line_number} of {copy.known_file_name} "
            "for the same prompt, which stays.",
            copy.file_name,
            copy.line_number,
            prompt_id=copy.prompt_id,
            story_id=copy.story_id,
        )
        for copy in known_copies(connection, ingest, rows)
    ]
