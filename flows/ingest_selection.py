"""Select a study's human stories: count tokens, apply the rule, keep what it says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import duckdb
import pyarrow as pa

from flows.corpora.selection import Selection, select, selection_id
from flows.corpora.selection_rules import SelectionRules
from flows.ingest_ledger import register_study
from flows.progress import REPORTER
from flows.study import StudySettings
from udfs.identity import content_id
from udfs.packaged_models import load_tokenizer
from warehouse.connection import checkpoint
from warehouse.schema import rejects, story_selections, studies, text_token_counts
from warehouse.writers import BATCH_ROWS, upsert

TOKEN_BATCH_BYTES = 4 << 20
"""UTF-8 bytes of text per tokenizer call: its encodings take some fifty times as much memory."""


@dataclass(frozen=True)
class SelectionReport:
    """A selection, and what it left out."""

    selection_id: str
    is_new: bool
    """False where this very selection is already the study's."""
    prompt_count: int
    story_count: int
    counted_text_count: int
    """Texts whose tokens were counted by this call."""
    reject_counts: Mapping[str, int] = field(default_factory=dict)


_VISIBLE_STORIES = """
    select stories.story_id, stories.prompt_id, stories.text_id
    from raw.stories as stories
    inner join raw.ingests as ingests on stories.ingest_id = ingests.ingest_id
    where stories.study_name = $study_name
        and stories.story_kind = 'human'
        and (ingests.status = 'done' or ingests.ingest_id = $ingest_id)
"""

_UNCOUNTED_TEXTS = f"""
with

visible_stories as ({_VISIBLE_STORIES}),

wanted as (

    select distinct visible_stories.text_id
    from visible_stories
    inner join raw.prompts as prompts
        on visible_stories.prompt_id = prompts.prompt_id
        and prompts.study_name = $study_name
    where prompts.character_count
        between $minimum_prompt_characters and $maximum_prompt_characters

)

select texts.rowid as row_number, texts.text_id, texts.byte_count
from raw.texts as texts
inner join wanted on texts.text_id = wanted.text_id
left join raw.text_token_counts as text_token_counts
    on texts.text_id = text_token_counts.text_id
    and text_token_counts.tokenizer_name = $tokenizer_name
where text_token_counts.text_id is null
order by row_number
"""  # noqa: S608 - constant text

# Prompts that only generations answer were never offered to people: they are no candidates.
_PROMPTS = f"""
with

visible_stories as ({_VISIBLE_STORIES})

select prompts.prompt_id, prompts.source_prompt_id, prompts.character_count
from raw.prompts as prompts
left join raw.ingests as ingests on prompts.ingest_id = ingests.ingest_id
where prompts.study_name = $study_name
    and (
        prompts.prompt_id in (select prompt_id from visible_stories)
        or (
            ingests.ingest_kind = 'stories'
            and (ingests.status = 'done' or ingests.ingest_id = $ingest_id)
        )
    )
"""  # noqa: S608 - constant text

_STORIES = f"""
with

visible_stories as ({_VISIBLE_STORIES})

select
    visible_stories.story_id,
    visible_stories.prompt_id,
    texts.normalised_md5,
    texts.word_count,
    text_token_counts.token_count
from visible_stories
inner join raw.texts as texts on visible_stories.text_id = texts.text_id
inner join raw.prompts as prompts
    on visible_stories.prompt_id = prompts.prompt_id
    and prompts.study_name = $study_name
left join raw.text_token_counts as text_token_counts
    on visible_stories.text_id = text_token_counts.text_id
    and text_token_counts.tokenizer_name = $tokenizer_name
    -- A count made under other limits must not make this another set of candidates.
    and prompts.character_count
    between $minimum_prompt_characters and $maximum_prompt_characters
"""  # noqa: S608 - constant text


def select_stories(
    connection: duckdb.DuckDBPyConnection,
    settings: StudySettings,
) -> SelectionReport:
    """Make the study's selection what its settings and its finished ingests say.

    Selecting the same thing again changes no row.

    Raises
    ------
    SelectionError
        Fewer than four prompts survive; the selection the study had stays.
    """
    counted = count_tokens(connection, settings, None)
    written = write_selection(connection, settings, None)
    register_study(connection, settings)
    return adopt_selection(connection, settings, written, counted)


def count_tokens(
    connection: duckdb.DuckDBPyConnection,
    settings: StudySettings,
    ingest_id: str | None,
) -> int:
    """Count the tokens of the texts that the rule looks at and that are not counted yet."""
    limits = ("minimum_prompt_characters", "maximum_prompt_characters", "tokenizer_name")
    missing = connection.execute(
        _UNCOUNTED_TEXTS,
        {
            "study_name": settings.study_name,
            "ingest_id": ingest_id,
            **{name: getattr(settings, name) for name in limits},
        },
    ).to_arrow_table()
    if not missing.num_rows:
        return 0
    tokenizer = load_tokenizer(settings.tokenizer_name)
    size = int(missing.num_rows)
    with REPORTER.get().track("Counting story tokens", size, "texts") as advance:
        for part in _parts(missing):
            texts = _read_part(connection, part)
            counts = tokenizer.count(texts.column("text").to_pylist())
            rows = {
                "text_id": texts.column("text_id"),
                "tokenizer_name": pa.array([settings.tokenizer_name] * texts.num_rows),
                "token_count": pa.array(counts, pa.int32()),
            }
            upsert(connection, text_token_counts, pa.table(rows))
            advance(texts.num_rows)
    return size


def _parts(missing: pa.Table) -> Iterator[pa.Table]:
    """Cut *missing* into neighbouring rows of about `TOKEN_BATCH_BYTES`."""
    start = size = 0
    for index, byte_count in enumerate(missing.column("byte_count").to_pylist()):
        if index > start and (size + byte_count > TOKEN_BATCH_BYTES or index - start == BATCH_ROWS):
            yield missing.slice(start, index - start)
            start, size = index, 0
        size += byte_count
    yield missing.slice(start)


def _read_part(connection: duckdb.DuckDBPyConnection, part: pa.Table) -> pa.Table:
    """Read the texts of *part*; the bounds let DuckDB skip the rest of the table."""
    numbers = part.column("row_number")
    connection.register("calibrary_part", part)
    try:
        return connection.execute(
            "select texts.text_id, texts.text from raw.texts as texts "
            "inner join calibrary_part on texts.text_id = calibrary_part.text_id "
            "where texts.rowid between $first and $last order by texts.rowid",
            {"first": numbers[0].as_py(), "last": numbers[-1].as_py()},
        ).to_arrow_table()
    finally:
        connection.unregister("calibrary_part")


@dataclass(frozen=True)
class WrittenSelection:
    """A selection whose rows are written, not yet the study's."""

    selection_id: str
    drawn: pa.Table | None
    """None where the study already has it."""


def write_selection(
    connection: duckdb.DuckDBPyConnection, settings: StudySettings, ingest_id: str | None
) -> WrittenSelection:
    """Apply the rule to the finished ingests and *ingest_id*, and write what comes out.

    Raises
    ------
    SelectionError
        Fewer than four prompts survive; nothing is written.
    """
    rules, prompts, stories = _candidates(connection, settings, ingest_id)
    identity = selection_id(settings.study_name, rules, prompts, stories)
    if identity == current_selection_id(connection, settings.study_name):
        return WrittenSelection(identity, None)
    selection = select(rules, prompts, stories)
    rows = selection.drawn.append_column(
        "selection_id", pa.array([identity] * selection.drawn.num_rows)
    ).append_column("study_name", pa.array([settings.study_name] * selection.drawn.num_rows))
    upsert(connection, story_selections, rows)
    _write_rejects(connection, settings.study_name, identity, selection)
    return WrittenSelection(identity, selection.drawn)


def selection_is_current(connection: duckdb.DuckDBPyConnection, settings: StudySettings) -> bool:
    """Say whether the study's selection is the one of its settings and its finished ingests."""
    known = current_selection_id(connection, settings.study_name)
    if known is None:
        return False
    return known == selection_id(settings.study_name, *_candidates(connection, settings, None))


def _candidates(
    connection: duckdb.DuckDBPyConnection, settings: StudySettings, ingest_id: str | None
) -> tuple[SelectionRules, pa.Table, pa.Table]:
    """Return the rule, and the prompts and stories of the finished ingests and *ingest_id*."""
    rules = SelectionRules(
        **{name: getattr(settings, name) for name in SelectionRules.__dataclass_fields__}
    )
    keys = {"study_name": settings.study_name, "ingest_id": ingest_id}
    prompts = connection.execute(_PROMPTS, keys).to_arrow_table()
    limits = ("minimum_prompt_characters", "maximum_prompt_characters", "tokenizer_name")
    stories = connection.execute(
        _STORIES, {**keys, **{name: getattr(settings, name) for name in limits}}
    ).to_arrow_table()
    return rules, prompts, stories


def adopt_selection(
    connection: duckdb.DuckDBPyConnection,
    settings: StudySettings,
    written: WrittenSelection,
    counted_text_count: int,
) -> SelectionReport:
    """Make *written* the study's selection: one update, after all its rows are there."""
    if written.drawn is not None:
        columns = [column.name for column in studies.columns]
        row = connection.execute(
            "select * from raw.studies where study_name = $name", {"name": settings.study_name}
        ).to_arrow_table()
        row = row.select(columns).to_pylist()[0] | {"selection_id": written.selection_id}
        upsert(connection, studies, [row], update=["selection_id"])
        checkpoint(connection)
    keys = {"name": settings.study_name, "id": written.selection_id}
    counted = connection.execute(
        "select count(distinct prompt_id), count(*) from raw.story_selections "
        "where study_name = $name and selection_id = $id",
        keys,
    ).fetchall()[0]
    reasons = connection.execute(
        "select reason, count(*) from raw.rejects "
        "where study_name = $name and selection_id = $id group by reason",
        keys,
    ).fetchall()
    return SelectionReport(
        written.selection_id,
        written.drawn is not None,
        int(counted[0]),
        int(counted[1]),
        counted_text_count,
        Counter({str(reason): int(count) for reason, count in reasons}),
    )


def current_selection_id(connection: duckdb.DuckDBPyConnection, study_name: str) -> str | None:
    """Return the study's selection, None where it has none yet."""
    row = connection.execute(
        "select selection_id from raw.studies where study_name = $name", {"name": study_name}
    ).fetchone()
    return None if row is None else row[0]


def _write_rejects(
    connection: duckdb.DuckDBPyConnection, study_name: str, identity: str, selection: Selection
) -> None:
    for kind, left_out in (
        ("prompt", selection.rejected_prompts),
        ("story", selection.rejected_stories),
    ):
        for start in range(0, left_out.num_rows, BATCH_ROWS):
            part = left_out.slice(start, BATCH_ROWS)
            keys = part.column(f"{kind}_id").to_pylist()
            size = part.num_rows
            columns = {
                "reject_id": [
                    content_id("reject", study_name, identity, kind, key) for key in keys
                ],
                "study_name": [study_name] * size,
                "reject_kind": [kind] * size,
                "reason": part.column("reason"),
                "detail": part.column("detail"),
                "prompt_id": part.column("prompt_id"),
                "selection_id": [identity] * size,
            }
            if kind == "story":
                columns |= _places(connection, study_name, part)
            upsert(connection, rejects, pa.table(columns))


def _places(
    connection: duckdb.DuckDBPyConnection, study_name: str, part: pa.Table
) -> dict[str, pa.ChunkedArray]:
    """Return where the stories of *part* came from, in its order."""
    numbered = part.select(["story_id"]).append_column(
        "row_number", pa.array(range(part.num_rows), pa.int32())
    )
    connection.register("calibrary_part", numbered)
    try:
        found = connection.execute(
            "select calibrary_part.story_id, stories.file_name, stories.line_number "
            "from calibrary_part "
            "inner join raw.stories as stories on calibrary_part.story_id = stories.story_id "
            "where stories.study_name = $name order by calibrary_part.row_number",
            {"name": study_name},
        ).to_arrow_table()
    finally:
        connection.unregister("calibrary_part")
    return {name: found.column(name) for name in found.column_names}
