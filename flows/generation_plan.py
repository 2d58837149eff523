"""Which samples a study asks for, which of them the ledger lacks, and how a request is identified.

A story is identified by its whole request. Its randomness depends on all of that but what only
says where it ends and how precisely it is computed: a larger limit continues the same story.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property

import duckdb
import orjson

from flows.language_models.errors import LanguageModelError
from flows.language_models.ready_made import LanguageModelEntry
from flows.language_models.samples import GenerationLimits, LanguageModelIdentity
from flows.language_models.strategies import DecodingStrategy
from flows.study_generation import GenerationSettings
from udfs.identity import content_id
from warehouse.connection import checkpoint
from warehouse.migrations import utc_now
from warehouse.schema import (
    decoding_strategies,
    generation_requests,
    ingests,
    language_models,
)
from warehouse.writers import upsert

GENERATED = "generated"

KIND = "generated_stories"

_SELECTED_PROMPTS = """
select prompts.prompt_id, prompts.prompt_text
from raw.prompts as prompts
inner join raw.ingests as ingests on prompts.ingest_id = ingests.ingest_id
left join (
    select story_selections.prompt_id, min(story_selections.prompt_rank) as prompt_rank
    from raw.story_selections as story_selections
    inner join raw.studies as studies
        on story_selections.study_name = studies.study_name
        and story_selections.selection_id = studies.selection_id
    where studies.study_name = $study_name
    group by 1
) as selected on prompts.prompt_id = selected.prompt_id
inner join raw.studies as studies on prompts.study_name = studies.study_name
where prompts.study_name = $study_name
    and ingests.status = 'done'
    and (studies.selection_id is null or selected.prompt_id is not null)
    and prompts.prompt_text is not null
order by selected.prompt_rank, prompts.prompt_id
"""


@dataclass(frozen=True)
class Prompt:
    """A prompt that stories are asked for."""

    prompt_id: str
    prompt_text: str


@dataclass(frozen=True)
class PlannedSample:
    """A sample that the ledger lacks."""

    story_id: str
    sample_key: str
    prompt: Prompt
    sample_index: int


@dataclass(frozen=True)
class StorySource:
    """One language model with one decoding strategy, as a study has it write."""

    study_name: str
    entry: LanguageModelEntry
    identity: LanguageModelIdentity
    strategy: DecodingStrategy
    settings: GenerationSettings

    @property
    def story_source_name(self) -> str:
        """``<language_model_name>/<decoding_strategy_name>``."""
        return f"{self.identity.language_model_name}/{self.strategy.decoding_strategy_name}"

    @property
    def limits(self) -> GenerationLimits:
        """Where a story ends at the latest."""
        return GenerationLimits(self.settings.maximum_story_tokens, self.settings.stop_strings)

    @cached_property
    def language_model_id(self) -> str:
        """Identity of the language model as it was loaded."""
        return self.identity.language_model_id

    @cached_property
    def decoding_strategy_id(self) -> str:
        """Identity of the strategy: its name and every parameter."""
        return content_id("decoding_strategy", *asdict(self.strategy).values())

    @cached_property
    def options_json(self) -> str:
        """All that a story depends on beside prompt and sample index."""
        counts = {"parameter_count": None, "context_tokens": None}
        options = {
            "language_model": asdict(self.identity) | counts,
            "decoding_strategy": asdict(self.strategy),
            "maximum_story_tokens": self.settings.maximum_story_tokens,
            "stop_strings": list(self.settings.stop_strings),
            "seed": self.settings.seed,
        }
        return orjson.dumps(options, option=orjson.OPT_SORT_KEYS).decode()

    @cached_property
    def ingest_id(self) -> str:
        """Identity of this way to write for this study."""
        return content_id("ingest", self.study_name, KIND, self.options_json)

    def sample(self, prompt: Prompt, sample_index: int) -> PlannedSample:
        """Return the sample of *prompt* with that index, counted from 0."""
        sample_key = content_id(
            "sample",
            prompt.prompt_id,
            self.identity.language_model_revision,
            self.identity.quantization,
            self.decoding_strategy_id,
            self.identity.template_sha256,
            sample_index,
            self.settings.seed,
        )
        story_id = content_id(
            GENERATED,
            sample_key,
            self.language_model_id,
            self.settings.maximum_story_tokens,
            *self.settings.stop_strings,
        )
        return PlannedSample(story_id, sample_key, prompt, sample_index)


def asked_prompts(
    connection: duckdb.DuckDBPyConnection, study_name: str, settings: GenerationSettings
) -> list[Prompt]:
    """Return the prompts that stories are asked for: the selection's by rank, else all with a text.

    Raises
    ------
    LanguageModelError
        The study has none.
    """
    rows = connection.execute(_SELECTED_PROMPTS, {"study_name": study_name}).fetchall()
    if not rows:
        raise LanguageModelError(
            f"a study must have prompts with a text to generate for, {study_name} has none; ingest "
            "stories or generations with their prompts first."
        )
    return [Prompt(*row) for row in rows[: settings.prompt_count]]


def forget_failed(
    connection: duckdb.DuckDBPyConnection, source: StorySource, prompts: Sequence[Prompt]
) -> None:
    """Delete the samples of *source* that failed, so that they are missing and asked for again.

    What nobody asks for now stays: it would not come back.
    """
    connection.execute(
        "delete from raw.stories where study_name = $study_name and story_kind = $kind "
        "and status = 'failed' and story_id in (select unnest($story_ids))",
        {
            "study_name": source.study_name,
            "kind": GENERATED,
            "story_ids": [sample.story_id for sample in _asked(source, prompts)],
        },
    )


def _asked(source: StorySource, prompts: Sequence[Prompt]) -> list[PlannedSample]:
    """Return every sample that *source* is asked for, the longest prompts first."""
    longest_first = sorted(prompts, key=lambda prompt: (-len(prompt.prompt_text), prompt.prompt_id))
    return [
        source.sample(prompt, index)
        for prompt in longest_first
        for index in range(source.settings.samples_per_prompt)
    ]


def missing_batches(
    connection: duckdb.DuckDBPyConnection,
    source: StorySource,
    prompts: Sequence[Prompt],
    batch_size: int,
) -> list[list[PlannedSample]]:
    """Return the samples of *source* that the ledger of its study lacks, in batches.

    Batches are cut from all that is asked, what is there already included, so that a run that was
    interrupted goes on in the same shapes and its last bits are those of an undisturbed one. Little
    is padded: longest prompts first, the samples of a prompt side by side.
    """
    rows = connection.execute(
        "select story_id from raw.stories where study_name = $study_name and story_kind = $kind",
        {"study_name": source.study_name, "kind": GENERATED},
    ).fetchall()
    known = {row[0] for row in rows}
    asked = _asked(source, prompts)
    batches = (asked[start : start + batch_size] for start in range(0, len(asked), batch_size))
    missing = ([sample for sample in batch if sample.story_id not in known] for batch in batches)
    return [batch for batch in missing if batch]


def is_registered(
    connection: duckdb.DuckDBPyConnection, source: StorySource, prompts: Sequence[Prompt]
) -> bool:
    """Say whether the warehouse knows that *source* is asked for all these samples."""
    row = connection.execute(
        "select count(*) from raw.generation_requests as generation_requests "
        "inner join raw.ingests as ingests "
        "on generation_requests.ingest_id = ingests.ingest_id and ingests.status = 'done' "
        "where generation_requests.ingest_id = $ingest_id "
        "and generation_requests.samples_per_prompt >= $samples_per_prompt "
        "and generation_requests.prompt_id in (select unnest($prompt_ids))",
        {
            "ingest_id": source.ingest_id,
            "samples_per_prompt": source.settings.samples_per_prompt,
            "prompt_ids": [prompt.prompt_id for prompt in prompts],
        },
    ).fetchone()
    return row is not None and row[0] == len(prompts)


def register(
    connection: duckdb.DuckDBPyConnection, source: StorySource, prompts: Sequence[Prompt]
) -> None:
    """Write down what is asked of *source*; another way to write the same source is superseded.

    Raises
    ------
    LanguageModelError
        Imported generations of the study have the same story source name.
    """
    _refuse_imported_twin(connection, source)
    model = {"language_model_id": source.language_model_id} | asdict(source.identity)
    upsert(connection, language_models, [model])
    strategy = {"decoding_strategy_id": source.decoding_strategy_id} | asdict(source.strategy)
    upsert(connection, decoding_strategies, [strategy])
    upsert(
        connection,
        generation_requests,
        _requests(connection, source, prompts),
        update=["samples_per_prompt"],
    )
    row = {
        "ingest_id": source.ingest_id,
        "study_name": source.study_name,
        "ingest_kind": KIND,
        "file_name": source.story_source_name,
        "content_sha256": hashlib.sha256(source.options_json.encode()).hexdigest(),
        "options_json": source.options_json,
        "status": "done",
        "started_at": utc_now(),
    }
    connection.execute(
        "update raw.ingests set status = 'superseded' where study_name = $study_name "
        "and ingest_kind = $kind and file_name = $name and ingest_id <> $ingest_id",
        {
            "study_name": source.study_name,
            "kind": KIND,
            "name": source.story_source_name,
            "ingest_id": source.ingest_id,
        },
    )
    upsert(connection, ingests, [row], update=["status"])
    checkpoint(connection)


def _requests(
    connection: duckdb.DuckDBPyConnection, source: StorySource, prompts: Sequence[Prompt]
) -> list[dict[str, object]]:
    rows = connection.execute(
        "select prompt_id, samples_per_prompt from raw.generation_requests "
        "where ingest_id = $ingest_id",
        {"ingest_id": source.ingest_id},
    ).fetchall()
    before = dict(rows)
    return [
        {
            "ingest_id": source.ingest_id,
            "prompt_id": prompt.prompt_id,
            "study_name": source.study_name,
            "story_source_name": source.story_source_name,
            "samples_per_prompt": max(
                source.settings.samples_per_prompt, before.get(prompt.prompt_id, 0)
            ),
        }
        for prompt in prompts
    ]


def _refuse_imported_twin(connection: duckdb.DuckDBPyConnection, source: StorySource) -> None:
    row = connection.execute(
        "select any_value(stories.file_name) from raw.stories as stories "
        "inner join raw.ingests as ingests on stories.ingest_id = ingests.ingest_id "
        "where stories.study_name = $study_name and stories.story_source_name = $name "
        "and ingests.ingest_kind = 'generations' and ingests.status = 'done'",
        {"study_name": source.study_name, "name": source.story_source_name},
    ).fetchone()
    if row is not None and row[0] is not None:
        raise LanguageModelError(
            "a story source must be either imported or generated, the study "
            f"{source.study_name} has {source.story_source_name} from {row[0]} already; give the "
            "language model another name in the study file."
        )
