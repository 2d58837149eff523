"""Claims about embeddings, tags and token counts, on the packaged models."""

from __future__ import annotations

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from udfs.embeddings import EmbeddingError, embed, load_embedder, longest_input
from udfs.packaged_models import ModelNotFoundError, load_tokenizer, resolve_model
from udfs.pos_bigrams import TAGGING_COMPONENTS, load_tagger, pos_bigrams

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


def test_no_texts_have_no_embeddings_and_an_empty_text_has_the_special_pieces(embedder) -> None:  # type: ignore[no-untyped-def]
    assert embed(embedder, []) == []
    (empty,) = embed(embedder, [""])
    assert (empty.embedded_tokens, empty.truncated_tokens) == (2, 0)
    assert empty.embedding.dtype == np.float32


@pytest.mark.parametrize(("limit", "bound"), [(513, "at most 512"), (2, "at least 3")])
def test_a_limit_that_the_model_cannot_keep_is_refused(limit: int, bound: str) -> None:
    with pytest.raises(EmbeddingError, match=bound):
        load_embedder(EMBEDDER, max_tokens=limit)


def test_a_model_that_reserves_places_for_padding_reads_fewer_pieces() -> None:
    from transformers import RobertaConfig, RobertaModel

    small = {"hidden_size": 4, "num_hidden_layers": 1, "num_attention_heads": 1}
    config = RobertaConfig(**small, intermediate_size=4, max_position_embeddings=20)
    roberta = RobertaModel(config)
    assert longest_input(SimpleNamespace(auto_model=roberta)) == 18
    # 18 pieces are read, 19 are not.
    assert roberta(torch.full((1, 18), 5)).last_hidden_state.shape == (1, 18, 4)
    with pytest.raises(RuntimeError, match="index 20 is out of bounds"):
        roberta(torch.full((1, 19), 5))


def test_a_limit_read_from_the_text_gives_the_embedding_of_what_is_read() -> None:
    short = load_embedder(EMBEDDER, max_tokens=6)
    cut, whole = embed(short, ["one two three four five six seven", "one two three four"])
    assert np.array_equal(cut.embedding, whole.embedding)
    assert (cut.embedded_tokens, cut.truncated_tokens) == (6, 3)
    assert (whole.embedded_tokens, whole.truncated_tokens) == (6, 0)


def test_a_tagger_has_what_universal_tags_need_and_nothing_more() -> None:
    assert load_tagger("packaged:en_core_web_sm").pipe_names == list(TAGGING_COMPONENTS)


def test_bigrams_are_those_of_the_whole_pipeline() -> None:
    import spacy

    texts = ["She had read it twice. Nobody asked!", "Rates rose; the bank, however, fell."]
    whole = spacy.load(resolve_model("packaged:en_core_web_sm"))
    for text, found in zip(
        texts, pos_bigrams(load_tagger("packaged:en_core_web_sm"), texts), strict=True
    ):
        tags = [token.pos_ for token in whole(text)]
        assert set(found.bigrams) == {f"{a} {b}" for a, b in pairwise(tags)}


def test_a_pipeline_without_a_tagger_is_refused(tmp_path) -> None:  # type: ignore[no-untyped-def]
    import spacy

    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(ModelNotFoundError, match="must have tok2vec, tagger, attribute_ruler"):
        load_tagger(str(tmp_path / "blank"))


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


def test_token_counts_equal_those_of_the_model_that_ships_as_gguf() -> None:
    """`<|im_start|>` is one piece of that vocabulary: a mark written in a text counts as itself."""
    counter = load_tokenizer("packaged:smollm2-135m-instruct")
    assert counter.count(["Hello world", "<|im_start|>", ""]) == [2, 1, 0]


@pytest.mark.parametrize("load", [load_tokenizer, load_embedder, load_tagger])
@pytest.mark.parametrize(
    ("name", "remedy"), [("packaged:nothing", "must be one of"), ("no/such-model", "loadable")]
)
def test_a_model_that_is_not_here_is_one_sentence(load, name: str, remedy: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ModelNotFoundError, match=remedy) as caught:
        load(name)
    assert "\n" not in str(caught.value)


def test_a_folder_without_a_tokenizer_is_refused_with_its_path(tmp_path) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(ModelNotFoundError, match=r"must hold tokenizer\.json") as caught:
        load_tokenizer(str(tmp_path))
    assert str(tmp_path) in str(caught.value)


def test_a_path_and_a_hub_id_resolve_to_themselves(tmp_path) -> None:  # type: ignore[no-untyped-def]
    assert resolve_model(str(tmp_path)) == str(tmp_path)
    assert resolve_model("owner/name") == "owner/name"
