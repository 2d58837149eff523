"""What still has to be measured: texts, cuts and features that a study needs and has not.

A prompt's *common word count* is the smallest word count over all its stories that take part (human
stories of the current selection, generated stories with words in them), but at least the study's
``minimum_common_words``. Stories shorter than that have no length-controlled twin. dbt derives the
same count in ``int_prompts_cut``; a test holds the two together.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

import duckdb


class Feature(StrEnum):
    """What is measured of a text."""

    EMBEDDING = "embedding"
    WORD_SET = "word_set"
    POS_BIGRAMS = "pos_bigrams"


@dataclass(frozen=True)
class TextCut:
    """A text, whole (`word_limit` 0) or cut to its first words."""

    text_id: str
    word_limit: int


_CUTS = """
with

settings as (

    select * from raw.studies
    where study_name = $study_name

),

taking_part as (

    select stories.prompt_id, stories.text_id
    from raw.stories as stories
    inner join raw.ingests as ingests on stories.ingest_id = ingests.ingest_id
    left join raw.story_selections as story_selections
        on stories.study_name = story_selections.study_name
        and stories.story_id = story_selections.story_id
        and story_selections.selection_id = (select selection_id from settings)
    where stories.study_name = $study_name
        and ingests.status = 'done'
        and (
            (stories.story_kind = 'human' and story_selections.story_id is not null)
            or (
                stories.story_kind = 'generated'
                and stories.status in ('ok', 'too_short', 'truncated')
            )
        )

),

counted as (

    select
        taking_part.prompt_id,
        taking_part.text_id,
        texts.word_count,
        texts.character_count,
        greatest(
            min(texts.word_count) over (partition by taking_part.prompt_id),
            (select minimum_common_words from settings)
        ) as common_word_count
    from taking_part
    inner join raw.texts as texts on taking_part.text_id = texts.text_id

),

cuts as (

    select text_id, 0 as word_limit, max(character_count) as character_count
    from counted
    group by text_id

    union all

    select text_id, common_word_count as word_limit, max(character_count) as character_count
    from counted
    where word_count >= common_word_count
    group by text_id, common_word_count

)
"""

_MISSING = {
    Feature.EMBEDDING: """
    select cuts.text_id, cuts.word_limit
    from cuts
    cross join settings
    anti join raw.text_embeddings as known
        on cuts.text_id = known.text_id
        and cuts.word_limit = known.word_limit
        and settings.embedding_model_name = known.embedding_model_name
        and settings.embedding_max_tokens = known.max_tokens
    order by cuts.character_count desc, cuts.text_id, cuts.word_limit
    """,
    Feature.WORD_SET: """
    select cuts.text_id, cuts.word_limit
    from cuts
    anti join raw.text_word_sets as known
        on cuts.text_id = known.text_id
        and cuts.word_limit = known.word_limit
    order by cuts.character_count desc, cuts.text_id, cuts.word_limit
    """,
    Feature.POS_BIGRAMS: """
    select cuts.text_id, cuts.word_limit
    from cuts
    cross join settings
    anti join raw.text_pos_bigrams as known
        on cuts.text_id = known.text_id
        and cuts.word_limit = known.word_limit
        and settings.tagging_model_name = known.tagging_model_name
        and settings.tagging_max_characters = known.max_characters
    order by cuts.character_count desc, cuts.text_id, cuts.word_limit
    """,
}


def missing_cuts(
    connection: duckdb.DuckDBPyConnection, study_name: str, feature: Feature
) -> list[TextCut]:
    """Return what *study_name* needs of *feature* and has not, longest text first.

    Longest first puts texts of like length into one batch and shows a lack of memory at once. A
    text and its cut are neighbours, so that one batch can see that they are read alike.
    """
    rows = connection.execute(_CUTS + _MISSING[feature], {"study_name": study_name}).fetchall()
    return [TextCut(text_id, word_limit) for text_id, word_limit in rows]


def read_texts(connection: duckdb.DuckDBPyConnection, text_ids: list[str]) -> dict[str, str]:
    """Return the texts of *text_ids*: one batch at a time, so that memory stays bounded."""
    rows = connection.execute(
        "select text_id, text from raw.texts where text_id in (select unnest($text_ids))",
        {"text_ids": text_ids},
    ).fetchall()
    return dict(rows)


def in_batches(cuts: list[TextCut], size: int) -> Iterator[list[TextCut]]:
    """Yield *cuts* in batches of *size*."""
    for start in range(0, len(cuts), size):
        yield cuts[start : start + size]
