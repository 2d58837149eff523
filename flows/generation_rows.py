"""Written samples as rows of the ledger, their texts and their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flows.corpora.text_columns import text_columns
from flows.generation_plan import GENERATED, PlannedSample, StorySource
from flows.ingest_generations import SHORTEST_STORY_WORDS
from flows.ingest_ledger import arrow_rows
from flows.language_models.samples import GeneratedSample
from warehouse.schema import stories, story_tokens


@dataclass(frozen=True)
class SampleRows:
    """One batch, ready to be written."""

    texts: pa.Table
    story_tokens: pa.Table
    stories: pa.Table


def sample_rows(
    source: StorySource, planned: Sequence[PlannedSample], written: Sequence[GeneratedSample]
) -> SampleRows:
    """Return the rows of a batch, *written* in the order in which it was *planned*."""
    texts = text_columns([sample.text for sample in written if sample.text is not None])
    columns = (texts.column(name).to_pylist() for name in ("text_id", "word_count"))
    counted = iter(zip(*columns, strict=True))
    rows = []
    for plan, sample in zip(planned, written, strict=True):
        text_id, word_count = (None, 0) if sample.text is None else next(counted)
        rows.append(_ledger_row(source, plan, sample, text_id, word_count))
    return SampleRows(texts, _token_rows(planned, written), arrow_rows(stories, rows))


def _ledger_row(
    source: StorySource,
    plan: PlannedSample,
    sample: GeneratedSample,
    text_id: str | None,
    word_count: int,
) -> dict[str, object]:
    identity = source.identity
    known: dict[str, object] = {
        "study_name": source.study_name,
        "story_id": plan.story_id,
        "prompt_id": plan.prompt.prompt_id,
        "text_id": text_id,
        "story_kind": GENERATED,
        "story_source_name": source.story_source_name,
        "language_model_name": identity.language_model_name,
        "language_model_revision": identity.language_model_revision,
        "quantization": identity.quantization,
        "decoding_strategy_name": source.strategy.decoding_strategy_name,
        "sampling_temperature": source.strategy.sampling_temperature,
        "template_name": identity.template_name,
        "sample_index": plan.sample_index,
        "seed": source.settings.seed,
        "status": _status(sample, word_count),
        "stop_reason": sample.stop_reason,
        "prompt_token_count": sample.prompt_token_count,
        "story_token_count": sample.story_token_count,
        "wall_seconds": sample.wall_seconds,
        "ingest_id": source.ingest_id,
        "language_model_id": source.language_model_id,
        "decoding_strategy_id": source.decoding_strategy_id,
        "maximum_story_tokens": source.settings.maximum_story_tokens,
        "batch_row_count": sample.row_count,
        "padded_token_count": sample.padded_token_count,
        "failure": sample.failure,
    }
    return {column.name: known.get(column.name) for column in stories.columns}


def _status(sample: GeneratedSample, word_count: int) -> str:
    """Return the ledger's word for what became of the sample."""
    if sample.text is None:
        return "failed"
    if word_count == 0:
        return "empty"
    if sample.stop_reason == "length":
        return "truncated"
    return "too_short" if word_count < SHORTEST_STORY_WORDS else "ok"


def _token_rows(planned: Sequence[PlannedSample], written: Sequence[GeneratedSample]) -> pa.Table:
    rows = [
        {
            "story_id": plan.story_id,
            "token_ids": _known(trace.token_ids),
            "confidences": _known(trace.confidence),
            "log_probabilities_nats": _known(trace.log_probability_nats),
            "sampling_confidences": _known(trace.sampling_confidence),
            "sampling_log_probabilities_nats": _known(trace.sampling_log_probability_nats),
        }
        for plan, sample in zip(planned, written, strict=True)
        if (trace := sample.trace) is not None
    ]
    return arrow_rows(story_tokens, rows)


def _known(values: NDArray[np.int32] | NDArray[np.float32]) -> list[int | float | None]:
    """Return *values* with None for what an endpoint does not say: a negative id, no number."""
    if values.dtype == np.int32:
        return [None if value < 0 else value for value in values.tolist()]
    return [None if np.isnan(value) else value for value in values.tolist()]
