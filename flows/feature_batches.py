"""The pure batch tasks of measuring: texts in, Arrow rows out, models loaded once per process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import pyarrow as pa

from udfs.embeddings import Embedder, embed, load_embedder
from udfs.pos_bigrams import load_tagger, pos_bigrams
from udfs.word_sets import count_words, cut_words, word_set
from warehouse.measurements import Feature


@dataclass(frozen=True)
class FeatureSettings:
    """Which models read how much, as the study says; and how, as this machine does."""

    embedding_model_name: str
    embedding_max_tokens: int
    tagging_model_name: str
    tagging_max_characters: int
    embedding_batch_size: int
    device: str | None


@dataclass(frozen=True)
class TextBatch:
    """Texts to measure, each with the cut it is measured under (0: whole)."""

    text_ids: tuple[str, ...]
    word_limits: tuple[int, ...]
    texts: tuple[str, ...]
    """Whole texts, as stored."""

    def cut_texts(self) -> list[str]:
        """Return the texts as they are measured."""
        return [
            cut_words(text, word_limit) if word_limit else text
            for text, word_limit in zip(self.texts, self.word_limits, strict=True)
        ]

    def keys(self) -> dict[str, pa.Array]:
        """Return the key columns of the rows to write."""
        return {
            "text_id": pa.array(self.text_ids, pa.string()),
            "word_limit": pa.array(self.word_limits, pa.int32()),
        }


def embedding_rows(batch: TextBatch, settings: FeatureSettings) -> pa.Table:
    """Embed *batch*: rows of ``raw.text_embeddings``."""
    embedder = _embedder(
        settings.embedding_model_name, settings.embedding_max_tokens, settings.device
    )
    results = embed(embedder, batch.cut_texts(), settings.embedding_batch_size)
    return pa.table(
        batch.keys()
        | _constant("embedding_model_name", settings.embedding_model_name, len(results))
        | _constant("max_tokens", settings.embedding_max_tokens, len(results))
        | {
            "embedded_tokens": pa.array([row.embedded_tokens for row in results], pa.int32()),
            "truncated_tokens": pa.array([row.truncated_tokens for row in results], pa.int32()),
            "embedding": pa.array([row.embedding for row in results], pa.list_(pa.float32())),
        }
    )


def word_set_rows(batch: TextBatch, settings: FeatureSettings) -> pa.Table:
    """Find the words of *batch*: rows of ``raw.text_word_sets``."""
    texts = batch.cut_texts()
    return pa.table(
        batch.keys()
        | {
            "words": pa.array([word_set(text) for text in texts], pa.list_(pa.string())),
            "word_count": pa.array([count_words(text) for text in texts], pa.int32()),
        }
    )


def pos_bigram_rows(batch: TextBatch, settings: FeatureSettings) -> pa.Table:
    """Tag *batch*: rows of ``raw.text_pos_bigrams``."""
    tagger = _tagger(settings.tagging_model_name)
    results = pos_bigrams(tagger, batch.cut_texts(), settings.tagging_max_characters)
    return pa.table(
        batch.keys()
        | _constant("tagging_model_name", settings.tagging_model_name, len(results))
        | _constant("max_characters", settings.tagging_max_characters, len(results))
        | {
            "pos_bigrams": pa.array([row.bigrams for row in results], pa.list_(pa.string())),
            "tagged_characters": pa.array([row.tagged_characters for row in results], pa.int32()),
            "truncated_characters": pa.array(
                [row.truncated_characters for row in results], pa.int32()
            ),
        }
    )


ROWS_OF: dict[Feature, Callable[[TextBatch, FeatureSettings], pa.Table]] = {
    Feature.WORD_SET: word_set_rows,
    Feature.POS_BIGRAMS: pos_bigram_rows,
    Feature.EMBEDDING: embedding_rows,
}


def _constant(name: str, value: str | int, count: int) -> dict[str, pa.Array]:
    kind = pa.string() if isinstance(value, str) else pa.int32()
    return {name: pa.array([value] * count, kind)}


@cache
def _embedder(name: str, max_tokens: int, device: str | None) -> Embedder:
    return load_embedder(name, max_tokens, device)


@cache
def _tagger(name: str) -> Any:
    return load_tagger(name)
