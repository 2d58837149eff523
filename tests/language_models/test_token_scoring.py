"""Claims about scored tokens of causal language models: a plain forward pass in float64 says so."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.language_models.errors import LanguageModelError
from flows.language_models.logit_scores import logit_scores
from flows.language_models.token_scoring import DocumentScores, TokenScorer, WindowSettings
from flows.language_models.token_windows import DocumentText, tokenized, windows
from tests.language_models.tiny_language_model import (
    BOS,
    VOCABULARY,
    WORDS,
    tiny_tokenizer,
    tiny_weights,
)
from udfs.temperature_sketch import log_partition, log_partition_at, mass_ahead_at
from udfs.token_scores import token_scores

LONG = WindowSettings(window_tokens=128, overlap_tokens=16)


class Memoryless(torch.nn.Module):
    """Forecasts from the last token alone, so that no window can matter."""

    def __init__(self) -> None:
        super().__init__()
        generator = torch.Generator().manual_seed(3)
        table = torch.randn(len(VOCABULARY), len(VOCABULARY), generator=generator) * 3
        self.table = torch.nn.Parameter(table, requires_grad=False)

    def forward(self, input_ids: torch.Tensor, use_cache: bool = False) -> Any:
        return type("Output", (), {"logits": self.table[input_ids]})


def words(count: int, seed: int = 0) -> str:
    return " ".join(np.random.default_rng(seed).choice(WORDS, size=count).tolist())


def scored(
    texts: list[DocumentText], window: WindowSettings = LONG, *, batch_tokens: int = 256,
    model: Any = None,
) -> list[DocumentScores]:  # fmt: skip
    weights = tiny_weights() if model is None else model
    return TokenScorer(weights, tiny_tokenizer(), window, batch_tokens).score(texts)


def exact_rows(token_ids: list[int]) -> np.ndarray:
    """Log-probabilities of every token after BOS, teacher-forced, normalised in float64."""
    with torch.inference_mode():
        logits = tiny_weights()(input_ids=torch.tensor([[1, *token_ids]])).logits[0, :-1].double()
    return torch.log_softmax(logits, dim=1).numpy()


def test_every_column_is_that_of_a_plain_forward_pass_in_float64() -> None:
    texts = [DocumentText(str(count), words(count, count)) for count in (40, 3, 17)]
    for text, found in zip(texts, scored(texts), strict=True):
        token_ids = [VOCABULARY.index(word) for word in text.text.split()]
        rows = exact_rows(token_ids)
        expected = token_scores(np.exp(rows), token_ids)
        assert found.document.token_ids[found.places].tolist() == token_ids
        assert found.scores is not None
        # Padding and batch shape move float32 logits by some 1e-6 and nothing else differs.
        assert found.scores.log_probability_nats == pytest.approx(
            rows[np.arange(len(rows)), token_ids], abs=2e-5
        )
        for name in ("confidence", "entropy_nats", "mass_ahead"):
            assert getattr(found.scores, name) == pytest.approx(
                getattr(expected, name), abs=2e-5
            ), name
        assert found.scores.top_token_id.tolist() == expected.top_label.tolist()
        assert found.scores.rank.tolist() == expected.rank.tolist()
        assert found.context_token_count.tolist() == list(range(1, len(rows) + 1))


def random_logits(row_count: int, outcome_count: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(row_count, outcome_count, generator=generator) * 4


@pytest.mark.parametrize("outcome_count", [5, 48, 997, 5_000])
def test_reduced_logits_equal_sorting_the_whole_row_in_float64(outcome_count: int) -> None:
    logits = random_logits(11, outcome_count, seed=outcome_count)
    outcome = torch.arange(11) % outcome_count
    found = logit_scores(logits, outcome)
    for place, row in enumerate(torch.log_softmax(logits.double(), dim=1).numpy()):
        order = np.argsort(-row, kind="stable")
        up_to = np.cumsum(np.exp(row[order]))
        size = int(np.searchsorted(up_to, 0.9 - 1e-12)) + 1
        rank = int(np.flatnonzero(order == int(outcome[place]))[0])
        assert found.top_token_id[place] == order[0]
        assert found.rank[place] == rank
        assert found.prediction_set_size[place] == size
        assert found.kept_mass[place] == pytest.approx(up_to[size - 1], abs=1e-6)
        assert found.mass_ahead[place] == pytest.approx(up_to[rank - 1] if rank else 0, abs=1e-6)
        assert found.log_probability_nats[place] == pytest.approx(row[outcome[place]], abs=2e-6)
        assert found.entropy_nats[place] == pytest.approx(-(row * np.exp(row)).sum(), abs=5e-6)


@pytest.mark.parametrize("outcome_count", [64, 5_000])
def test_sketches_of_logits_answer_for_every_temperature(outcome_count: int) -> None:
    logits = random_logits(9, outcome_count, seed=outcome_count)
    outcome = torch.arange(9) * 7 % outcome_count
    found = logit_scores(logits, outcome)
    rows = torch.log_softmax(logits.double(), dim=1).numpy()
    for temperature in (0.5, 0.61, 0.9, 1.0, 1.3, 2.0):
        exact = log_partition(rows, 1.0 / temperature)
        assert log_partition_at(temperature, found.temperature_sketch) == pytest.approx(
            exact, abs=1e-4
        )
        masses = np.exp(rows / temperature - exact[:, None])
        own = masses[np.arange(9), outcome]
        ahead = np.where(masses > own[:, None], masses, 0.0).sum(axis=1)
        sketched = mass_ahead_at(temperature, found.temperature_sketch, found.mass_ahead_sketch)
        assert sketched == pytest.approx(ahead, abs=1e-4)


def test_sketches_of_steep_forecasts_are_near_exact_at_the_temperature_most_asked_for() -> None:
    # One likely outcome and 49,151 equal ones d nats below: the hardest rows for 16 coefficients.
    logits = torch.zeros(59, 49_152)
    logits[:, 1:] = -torch.linspace(1, 30, 59)[:, None]
    sketches = logit_scores(logits, torch.zeros(59, dtype=torch.long)).temperature_sketch
    exact = torch.log_softmax(logits.double(), dim=1).numpy()
    # The log-partition of probabilities is 0; from Chebyshev nodes it is off by 9e-4.
    assert np.abs(log_partition_at(1.0, sketches)).max() < 2e-4
    for temperature in (0.5, 0.8, 1.25, 2.0):
        missed = log_partition_at(temperature, sketches) - log_partition(exact, 1.0 / temperature)
        assert np.abs(missed).max() < 2e-3


def test_ties_go_to_the_lowest_id_and_an_even_nucleus_ends_where_it_must() -> None:
    found = logit_scores(torch.zeros(3, 10), torch.tensor([0, 4, 9]))
    assert found.top_token_id.tolist() == [0, 0, 0]
    assert found.rank.tolist() == [0, 4, 9]
    assert found.mass_ahead == pytest.approx([0.0, 0.4, 0.9])
    assert found.prediction_set_size.tolist() == [9, 9, 9]
    assert np.isnan(found.mass_ahead_sketch[0]).all()


def test_rows_that_are_no_forecast_are_marked_and_touch_no_other() -> None:
    logits = random_logits(5, 30, seed=1)
    sound = logit_scores(logits[4:], torch.tensor([3]))
    logits[0, 2], logits[1, 3], logits[2, 4] = torch.nan, torch.inf, -torch.inf
    logits[3, 5:] = -torch.inf
    found = logit_scores(logits, torch.tensor([0, 0, 4, 0, 3]))
    assert np.isnan(found.confidence[:2]).all()
    assert found.log_probability_nats[2] == -math.inf
    # Forbidden outcomes beside the one that came are no fault.
    exact = torch.log_softmax(logits[3, :5].double(), dim=0)
    assert found.log_probability_nats[3] == pytest.approx(float(exact[0]), abs=1e-6)
    assert found.entropy_nats[3] == pytest.approx(float(-(exact * exact.exp()).sum()), abs=1e-6)
    assert found.log_probability_nats[4] == sound.log_probability_nats[0]


def test_a_model_without_memory_scores_a_text_alike_in_any_windows() -> None:
    text = [DocumentText("long", words(50))]
    whole = scored(text, model=Memoryless())[0]
    for window, overlap in ((4, 1), (4, 2), (7, 3), (30, 5)):
        parts = scored(text, WindowSettings(window, overlap), model=Memoryless())[0]
        assert parts.scores is not None
        assert whole.scores is not None
        assert parts.scores.log_probability_nats.sum() == pytest.approx(
            whole.scores.log_probability_nats.sum(), abs=1e-9
        )
        assert parts.context_token_count.max() <= window - 1
        assert parts.context_token_count[window - 1 :].min() > overlap


@given(st.integers(1, 60), st.integers(0, 59), st.integers(2, 20), st.data())
@settings(deadline=None)
def test_windows_score_every_outcome_once_with_enough_before_it(
    count: int, first: int, limit: int, data: st.DataObject
) -> None:
    overlap = data.draw(st.integers(1, limit - 1))
    context = words(min(first, count - 1))
    text = words(count - min(first, count - 1))
    document = tokenized(
        DocumentText("any", text, f"{context} " if context else ""), tiny_tokenizer(), 1
    )
    found = windows(document, limit, overlap)
    covered = [place for each in found for place in range(each.first, each.stop)]
    assert covered == list(range(min(first, count - 1), count))
    for each in found:
        assert 0 <= each.start <= each.first < each.stop <= each.start + limit
        assert each.start == 0 or each.first - each.start >= overlap


def test_batches_change_no_score_beyond_the_last_bits() -> None:
    texts = [DocumentText(str(seed), words(3 + 9 * seed, seed)) for seed in range(5)]
    together = scored(texts, batch_tokens=1_000)
    alone = scored(texts, batch_tokens=1)
    for one, other in zip(together, alone, strict=True):
        assert one.scores is not None
        assert other.scores is not None
        assert one.scores.log_probability_nats == pytest.approx(
            other.scores.log_probability_nats, abs=2e-5
        )


@pytest.mark.parametrize("text", ["w1 w2 w3", f"{BOS} w1 w2 w3", f"{BOS} {BOS} w1 w2 w3"])
def test_the_begin_token_stands_once_in_front_and_is_no_outcome(text: str) -> None:
    found = scored([DocumentText("one", text)])[0]
    token_ids = [VOCABULARY.index(word) for word in ("w1", "w2", "w3")]
    assert found.document.token_ids[found.places].tolist() == token_ids
    assert found.context_token_count.tolist() == [1, 2, 3]
    rows = exact_rows(token_ids)
    assert found.scores is not None
    assert found.scores.log_probability_nats == pytest.approx(
        rows[np.arange(3), token_ids], abs=2e-5
    )


def test_a_begin_token_inside_a_text_is_read_and_not_scored() -> None:
    found = scored([DocumentText("one", f"w1 {BOS} w2")])[0]
    assert found.places.tolist() == [0, 2]
    assert found.context_token_count.tolist() == [1, 3]


def test_without_a_begin_token_the_first_token_has_no_forecast() -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.bos_token = None
    scorer = TokenScorer(tiny_weights(), tokenizer, LONG, 256)
    found, single = scorer.score([DocumentText("a", "w1 w2 w3"), DocumentText("b", "w1")])
    assert found.places.tolist() == [1, 2]
    assert found.context_token_count.tolist() == [1, 2]
    assert single.scores is None
    assert len(single.places) == 0


def test_only_the_continuation_is_scored_and_given_its_context() -> None:
    joined = scored([DocumentText("all", "w1 w2 w3 w4")])[0]
    found = scored([DocumentText("half", "w3 w4", "w1 w2 ")])[0]
    assert found.places.tolist() == [2, 3]
    assert found.context_token_count.tolist() == [3, 4]
    assert not found.document.is_across_join.any()
    assert joined.scores is not None
    assert found.scores is not None
    assert found.scores.log_probability_nats == pytest.approx(
        joined.scores.log_probability_nats[2:], abs=2e-5
    )


def test_a_token_across_the_join_is_scored_flagged_and_counts_only_its_own_bytes() -> None:
    found = scored([DocumentText("cut", "1 w2", "w5 w1")])[0]
    # "w1" + "1" is the one token w11: it ends in the text and begins before it.
    assert found.document.token_ids[found.places].tolist() == [
        VOCABULARY.index("w11"), VOCABULARY.index("w2"),
    ]  # fmt: skip
    assert found.document.is_across_join[found.places].tolist() == [True, False]
    assert found.document.byte_count[found.places].tolist() == [1, 3]


@given(st.text(st.characters(codec="utf-8"), max_size=40), st.text(max_size=5))
def test_bytes_of_the_tokens_sum_to_those_of_the_text(text: str, context: str) -> None:
    text = text.replace(BOS, "")
    document = tokenized(DocumentText("any", text, context), tiny_tokenizer(), 1)
    if document.is_outcome.any():
        assert document.byte_count[document.is_outcome].sum() == len(text.encode())
        assert document.byte_count.min() >= 0


def test_sentences_and_places_in_them_count_from_zero() -> None:
    text = "w1 w2. W3 w4!\n\nw5"
    document = tokenized(DocumentText("three", text), tiny_tokenizer(), 1)
    assert document.sentence_index.tolist() == [0, 0, 1, 1, 2]
    assert document.position.tolist() == [0, 1, 0, 1, 0]


def test_a_word_outside_the_vocabulary_is_scored_as_unknown() -> None:
    scorer = TokenScorer(tiny_weights(), tiny_tokenizer(), LONG, 256)
    found = scorer.score([DocumentText("odd", "w1 zebra")])[0]
    assert scorer.unknown_id == 0
    assert (found.document.token_ids == 0).tolist() == [False, True]
    assert found.outcome_labels == ["w1", "<unk>"]


def test_windows_that_do_not_move_on_are_refused() -> None:
    with pytest.raises(LanguageModelError, match="got 3 of 3"):
        scored([DocumentText("one", "w1")], WindowSettings(4, 3))
