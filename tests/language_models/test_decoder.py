"""Claims about the decoder: what a forecast may depend on, where weights are kept, how it ends."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from flows.corpora.sentence_documents import SentenceDocument
from flows.language_models.decoder import Decoder, load_decoder, save_decoder
from flows.language_models.decoder_network import DecoderNetwork, DecoderSettings
from flows.language_models.decoder_training import (
    TrainedDecoder,
    TrainingSettings,
    train_decoder,
)
from flows.language_models.errors import DecoderError
from flows.language_models.forecast_losses import (
    DistinctRows,
    fitted_temperature,
    temperature_gain,
)
from flows.language_models.scored_tokens import scored_tokens
from flows.language_models.vocabulary import UNKNOWN_ID, Vocabulary, encode

WORDS = Vocabulary(tuple("abcdefgh"))
SMALL = DecoderSettings(context_length=6, width=8, head_count=2, block_count=2)
QUICK = TrainingSettings(step_count=20, sentences_per_step=4)


def document(*lines: str) -> list[SentenceDocument]:
    return [SentenceDocument("letters", tuple(tuple(line) for line in lines))]


@pytest.fixture(scope="module")
def small_decoder() -> Decoder:
    torch.manual_seed(3)
    return Decoder(WORDS, DecoderNetwork(WORDS.outcome_count, SMALL).eval())


def test_every_row_is_what_its_prefix_alone_gives(small_decoder: Decoder) -> None:
    text = encode(WORDS, document("abca", "abd", "zab", "abca", "h"))
    forecasts = small_decoder.forecast(text)
    network = small_decoder.network
    for place in range(len(text)):
        start = place - text.position[place]
        prefix = [WORDS.begin_id, *text.token_id[start:place].tolist()]
        with torch.inference_mode():
            logits = network(torch.tensor([prefix]))[0, -1].double()
        expected = torch.log_softmax(logits, dim=0).numpy()
        # Float32 logits of about 1: their last bits depend on the shape of the batch.
        found = forecasts.log_probabilities[forecasts.row_of_token[place]]
        assert found == pytest.approx(expected, abs=2e-6)


def test_equal_beginnings_share_a_row_and_others_do_not(small_decoder: Decoder) -> None:
    forecasts = small_decoder.forecast(encode(WORDS, document("abca", "abd", "abca")))
    row = forecasts.row_of_token
    assert row[:3].tolist() == row[5:8].tolist()
    assert row[:5].tolist() == row[9:].tolist()
    # (), a, ab, abc, abca and abd.
    assert len(forecasts.log_probabilities) == len(set(row.tolist())) == 6


def test_only_the_context_length_of_a_sentence_is_scored(small_decoder: Decoder) -> None:
    forecasts = small_decoder.forecast(encode(WORDS, document("abcdefgh", "ab")))
    assert forecasts.text.position.tolist() == [0, 1, 2, 3, 4, 5, 0, 1, 2]
    assert np.exp(forecasts.log_probabilities).sum(axis=1) == pytest.approx(1.0, abs=1e-12)


def test_the_begin_mark_is_no_outcome(small_decoder: Decoder) -> None:
    rows = small_decoder.forecast(encode(WORDS, document("ab"))).log_probabilities
    assert rows.shape[1] == WORDS.outcome_count == WORDS.begin_id


def test_weights_are_kept_under_their_hash_and_read_back_bit_by_bit(
    small_decoder: Decoder, tmp_path: Path
) -> None:
    path = save_decoder(small_decoder, tmp_path)
    assert save_decoder(small_decoder, tmp_path) == path
    assert [each.name for each in tmp_path.iterdir()] == [path.name]
    read = load_decoder(path)
    text = encode(WORDS, document("abc", "hg"))
    assert read.vocabulary == WORDS
    assert np.array_equal(
        read.forecast(text).log_probabilities, small_decoder.forecast(text).log_probabilities
    )


def test_weights_that_are_not_what_their_name_says_are_refused(
    small_decoder: Decoder, tmp_path: Path
) -> None:
    path = save_decoder(small_decoder, tmp_path)
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(content)
    with pytest.raises(DecoderError, match="train again"):
        load_decoder(path)


def test_a_seed_names_the_weights_and_leaves_torch_alone() -> None:
    text = encode(WORDS, document("abc", "abd", "hgf"))
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    first, again, other = (
        train_decoder(WORDS, text, seed, SMALL, QUICK).decoder.network.state_dict()
        for seed in (0, 0, 1)
    )
    assert torch.equal(torch.random.get_rng_state(), before)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["embedding.weight"], other["embedding.weight"])


@pytest.fixture(scope="module")
def trained(small_world) -> TrainedDecoder:  # type: ignore[no-untyped-def]
    return train_decoder(small_world.vocabulary, small_world.training, seed=0)


@pytest.mark.timeout(600)  # 1,200 steps take a minute on two idle cores
def test_the_decoder_is_near_calibrated_in_distribution(trained, small_world) -> None:  # type: ignore[no-untyped-def]
    """Printed: 0.653 against 0.661, τ* 0.957, gain 0.002 nats."""
    forecasts = trained.decoder.forecast(small_world.continuation)
    scored = scored_tokens(forecasts)
    # Twice the standard error of an accuracy over 2,000 sentences, as for the trigram.
    assert abs(scored.is_hit.mean() - scored.confidence.mean()) < 0.012
    assert fitted_temperature(forecasts).fitted_temperature == pytest.approx(1.0, abs=0.08)
    assert abs(temperature_gain(forecasts).temperature_gain_nats or 1.0) < 0.003


@pytest.mark.timeout(600)
def test_training_ends_off_a_stationary_point_and_off_a_temperature_of_1(
    trained,  # type: ignore[no-untyped-def]
    small_world,
) -> None:
    """Neither hypothesis of Theorem 3 holds, and neither does its conclusion: printed 0.943."""
    assert trained.gradient_norm > 1e-3
    training = trained.decoder.forecast(small_world.training)
    assert abs(DistinctRows(training).at(1.0).gradient) > 1e-4
    assert -scored_tokens(training).log_probability_nats.mean() == pytest.approx(
        trained.log_loss_nats, abs=1e-5
    )


@pytest.mark.timeout(600)
def test_under_more_rare_words_the_gap_lies_on_rows_with_unknown_on_top(
    trained, small_world
) -> None:  # type: ignore[no-untyped-def]
    """Printed: 0.456 against 0.785 there, 0.686 against 0.693 elsewhere."""
    scored = scored_tokens(trained.decoder.forecast(small_world.more_rare_words))
    surplus = scored.is_hit - scored.confidence
    is_top = scored.top_token_id == UNKNOWN_ID
    assert surplus[is_top].mean() > 0.05
    assert abs(surplus[~is_top].mean()) < 0.02
