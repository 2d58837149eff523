"""Claims about embeddings, tags and token counts, on the packaged models."""

from __future__ import annotations

import numpy as np
import pytest

from udfs.embeddings import EmbeddingError, embed, load_embedder
from udfs.packaged_models import ModelNotFoundError, load_tokenizer, resolve_model
from udfs.pos_bigrams import load_tagger, pos_bigrams

EMBEDDER = "packaged:all-minilm-l6-v2"


@pytest.fixture(scope="module")
def embedder():  # type: ignore[no-untyped-def]
    return load_embedder(EMBEDDER)


def test_embeddings_are_those_of_the_bare_library(embedder) -> None:  # type: ignore[no-untyped-def]
    texts = ["A dog slept by the door.", "Rates rose again this quarter, it said.", "No."]
    expected = embedder.model.encode(texts, batch_size=16)
    found = np.array([row.embedding for row in embed(embedder, texts)])
    assert np.abs(found - expected).max() == 0.0
    assert found.shape == (3, 384)


def test_token_counts_say_what_the_limit_cut_off(embedder) -> None:  # type: ignore[no-untyped-def]
    # One word piece a word, and the two special pieces.
    short, exact, long = embed(embedder, ["dog", "dog " * 254, "dog " * 300])
    assert (short.embedded_tokens, short.truncated_tokens) == (3, 0)
    assert (exact.embedded_tokens, exact.truncated_tokens) == (256, 0)
    assert (long.embedded_tokens, long.truncated_tokens) == (256, 46)


def test_texts_that_are_read_alike_share_one_embedding(embedder) -> None:  # type: ignore[no-untyped-def]
    first, second, third = embed(
        embedder, ["dog " * 300 + "cat", "dog " * 300, "cat " + "dog " * 300]
    )
    assert np.array_equal(first.embedding, second.embedding)
    assert not np.array_equal(first.embedding, third.embedding)


def test_a_limit_beyond_the_model_is_refused() -> None:
    with pytest.raises(EmbeddingError, match="at most 512"):
        load_embedder(EMBEDDER, max_tokens=513)


def test_tags_are_universal_and_white_space_has_none() -> None:
    tagger = load_tagger("packaged:en_core_web_sm")
    first, spaced, empty = pos_bigrams(tagger, ["The dog sleeps.", "The \n\n dog  sleeps.", ""])
    assert first.bigrams == ["DET NOUN", "NOUN VERB", "VERB PUNCT"]
    assert spaced.bigrams
    assert not any("SPACE" in bigram for bigram in spaced.bigrams)
    assert (empty.bigrams, empty.tagged_characters) == ([], 0)


def test_only_the_first_characters_are_tagged_and_the_rest_is_counted() -> None:
    tagger = load_tagger("packaged:en_core_web_sm")
    whole = pos_bigrams(tagger, ["The dog sleeps."])[0]
    (cut,) = pos_bigrams(tagger, ["The dog sleeps. And so on for ever."], max_characters=15)
    assert cut.bigrams == whole.bigrams
    assert (cut.tagged_characters, cut.truncated_characters) == (15, 20)


def test_token_counts_leave_out_special_tokens() -> None:
    assert load_tokenizer(EMBEDDER).count(["dog", "dog dog", ""]) == [1, 2, 0]


@pytest.mark.parametrize(
    ("name", "remedy"), [("packaged:nothing", "must be one of"), ("no/such-model", "loadable")]
)
def test_a_model_that_is_not_here_is_one_sentence(name: str, remedy: str) -> None:
    with pytest.raises(ModelNotFoundError, match=remedy):
        load_tokenizer(name)


def test_a_path_and_a_hub_id_resolve_to_themselves(tmp_path) -> None:  # type: ignore[no-untyped-def]
    assert resolve_model(str(tmp_path)) == str(tmp_path)
    assert resolve_model("owner/name") == "owner/name"
