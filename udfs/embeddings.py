"""Sentence embeddings of stories, with what the model's own limit cut off."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from udfs.errors import CalibraryError
from udfs.packaged_models import ModelNotFoundError, first_sentence, resolve_model

SPECIAL_PIECES = 2
"""Word pieces that open and close every text."""


class EmbeddingError(CalibraryError):
    """A text has no usable embedding."""


@dataclass(frozen=True)
class Embedder:
    """A sentence embedding model and its limit."""

    name: str
    max_tokens: int
    model: Any


@dataclass(frozen=True)
class TextEmbedding:
    """Embedding of one text.

    Attributes
    ----------
    embedding : ndarray of float32, shape (dimension,)
        As the model gives it (MiniLM: scaled to length 1).
    embedded_tokens : int
        Word pieces read, the two special ones included.
    truncated_tokens : int
        Word pieces beyond the limit, not read.
    """

    embedding: NDArray[np.float32]
    embedded_tokens: int
    truncated_tokens: int


def load_embedder(name: str, max_tokens: int = 256, device: str | None = None) -> Embedder:
    """Load the sentence embedding model *name* so that it reads *max_tokens* word pieces.

    The limit counts special pieces. MiniLM was trained with 128 and ships with 256; GCV states 512.
    Code that comes with a model is never run.

    Raises
    ------
    ModelNotFoundError
        No such model here.
    EmbeddingError
        The model cannot read that many word pieces, or they leave no room for a word.
    """
    if max_tokens < SPECIAL_PIECES + 1:
        raise EmbeddingError(
            f"embedding_max_tokens must be at least {SPECIAL_PIECES + 1}, got {max_tokens}: "
            "the opening and the closing piece count."
        )
    from sentence_transformers import SentenceTransformer
    from transformers.utils.logging import disable_progress_bar

    disable_progress_bar()
    logging.getLogger("sentence_transformers").setLevel(logging.WARNING)
    try:
        model = SentenceTransformer(resolve_model(name), device=device, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(
            f"an embedding model must be loadable as {name!r}: {first_sentence(error)}; "
            "use packaged:all-minilm-l6-v2 offline."
        ) from None
    if not hasattr(model.tokenizer, "backend_tokenizer"):
        raise ModelNotFoundError(
            f"an embedding model must have a fast tokenizer, and {name} has none: what it leaves "
            "unread could not be counted; use packaged:all-minilm-l6-v2."
        )
    longest = longest_input(model[0])
    if longest is not None and max_tokens > longest:
        raise EmbeddingError(
            f"embedding_max_tokens must be at most {longest} for {name}, got {max_tokens}."
        )
    model.max_seq_length = max_tokens
    return Embedder(name, max_tokens, model)


def longest_input(transformer: Any) -> int | None:
    """Return how many word pieces *transformer* has places for; None where it sets no limit.

    RoBERTa and its kin leave the first places, up to the one for padding, unused.
    """
    inner = getattr(transformer, "auto_model", None)
    places = getattr(getattr(inner, "config", None), "max_position_embeddings", None)
    table = getattr(getattr(inner, "embeddings", None), "position_embeddings", None)
    padding = getattr(table, "padding_idx", None)
    return places if places is None or padding is None else places - padding - 1


def embed(embedder: Embedder, texts: Sequence[str], batch_size: int = 16) -> list[TextEmbedding]:
    """Embed *texts*; what the model would read alike is computed once.

    A long story and its length-controlled cut often agree in all word pieces below the limit: they
    then share one embedding, to the bit.

    Parameters
    ----------
    embedder : Embedder
        From `load_embedder`.
    texts : sequence of str
    batch_size : int
        Texts that go through the model together, at least 1; it moves values by some 1e-7.

    Returns
    -------
    list of TextEmbedding
        In the order of *texts*.

    Raises
    ------
    EmbeddingError
        An embedding is not finite, with the text's place.
    """
    tokenizer = embedder.model.tokenizer.backend_tokenizer
    tokenizer.no_truncation()
    tokenizer.no_padding()
    pieces = [encoding.ids for encoding in tokenizer.encode_batch(list(texts))]
    # Of a text that is cut, all pieces but the closing special one decide what is read.
    limit = embedder.max_tokens
    read = [tuple(ids if len(ids) <= limit else [*ids[: limit - 1], ids[-1]]) for ids in pieces]
    first = {key: place for place, key in reversed(list(enumerate(read)))}
    unique = sorted(first.values())
    vectors = embedder.model.encode(
        [texts[place] for place in unique],
        batch_size=batch_size,
        show_progress_bar=False,
        convert_to_numpy=True,
    ).astype(np.float32, copy=False)
    row_of = dict(zip(unique, vectors, strict=True))
    results = []
    for place, ids in enumerate(pieces):
        vector = row_of[first[read[place]]]
        if not np.isfinite(vector).all():
            raise EmbeddingError(
                f"an embedding must be finite, got NaN or infinity for text {place} of the batch "
                f"({texts[place][:40]!r}); check the model {embedder.name}."
            )
        kept = min(len(ids), embedder.max_tokens)
        results.append(TextEmbedding(vector, kept, len(ids) - kept))
    return results
