"""Claims about what is read from a completions answer, each written as a server writes it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from flows.language_models.completion_answers import (
    CompletionAnswer,
    EndpointTokens,
    read_stop_reason,
    read_tokens,
)
from flows.language_models.errors import EndpointError
from flows.language_models.samples import StopReason, TokenTrace


def parallel(
    text: str, tokens: list[str], values: list[float | None], counted: int, reason: str = "length"
) -> CompletionAnswer:
    """As vLLM and the older interface have it."""
    tops = [{token: value} for token, value in zip(tokens, values, strict=False)]
    given = {"tokens": tokens, "token_logprobs": values, "top_logprobs": tops}
    return answered(text, given, counted, reason)


def listed(
    text: str, entries: list[tuple[int, str, float]], counted: int, reason: str = "length"
) -> CompletionAnswer:
    """As llama.cpp's server has it; its likeliest token has half of what is left."""
    content = [
        {
            "id": token_id,
            "token": piece,
            "bytes": list(piece.encode()),
            "logprob": value,
            "top_logprobs": [{"id": 9, "token": "x", "bytes": [120], "logprob": value / 2}],
        }
        for token_id, piece, value in entries
    ]
    return answered(text, {"content": content}, counted, reason)


def answered(text: str, given: Any, counted: int | None, reason: str) -> CompletionAnswer:
    return CompletionAnswer.model_validate(
        {
            "choices": [{"text": text, "logprobs": given, "finish_reason": reason}],
            "usage": {"prompt_tokens": 3, "completion_tokens": counted},
        }
    )


def trace_of(found: EndpointTokens) -> TokenTrace:
    assert found.trace is not None
    return found.trace


def is_unknown(trace: TokenTrace) -> bool:
    return all(
        np.isnan(values).all()
        for values in (
            trace.confidence,
            trace.log_probability_nats,
            trace.sampling_confidence,
            trace.sampling_log_probability_nats,
        )
    )


ONE_TWO = parallel("one two", ["one", " two"], [-0.5, -1.0], 2)


def test_values_go_to_the_distribution_that_they_are_of() -> None:
    own = trace_of(read_tokens(ONE_TWO, "length", "unmodified"))
    assert own.log_probability_nats.tolist() == [-0.5, -1.0]
    assert own.confidence == pytest.approx([math.exp(-0.5), math.exp(-1.0)])
    assert np.isnan([own.sampling_confidence, own.sampling_log_probability_nats]).all()
    drawn = trace_of(read_tokens(ONE_TWO, "length", "sampling"))
    assert drawn.sampling_log_probability_nats.tolist() == [-0.5, -1.0]
    assert np.isnan([drawn.confidence, drawn.log_probability_nats]).all()
    assert read_tokens(ONE_TWO, "length", "none") == EndpointTokens(2, None)


def test_both_shapes_give_ids_and_the_confidence_of_the_likeliest_token() -> None:
    trace = trace_of(
        read_tokens(listed("ab", [(7, "a", -2.0), (8, "b", -1.0)], 2), "length", "unmodified")
    )
    assert trace.token_ids.tolist() == [7, 8]
    assert trace.confidence == pytest.approx([math.exp(-1.0), math.exp(-0.5)])
    assert trace_of(read_tokens(ONE_TWO, "length", "unmodified")).token_ids.tolist() == [-1, -1]


@pytest.mark.parametrize(
    "answer",
    [
        parallel("one two", ["one"], [-0.5], 2),
        # A character of two tokens: llama.cpp lists the second alone, with the bytes of both.
        listed("a🙂", [(1, "a", -0.5), (3, "🙂", -0.1)], 3),
    ],
)
def test_fewer_values_than_tokens_are_counted_and_none_is_kept(answer: CompletionAnswer) -> None:
    found = read_tokens(answer, "length", "unmodified")
    assert is_unknown(trace_of(found))
    assert len(trace_of(found).token_ids) == found.story_token_count != 0


def test_a_character_of_two_tokens_before_a_stop_string_is_no_complete_list() -> None:
    answer = listed("a🙂", [(1, "a", -0.5), (3, "🙂", -0.1)], 5, "stop")
    assert read_stop_reason(answer, ["#"]) is None
    found = read_tokens(answer, None, "unmodified")
    assert found.story_token_count is None
    assert is_unknown(trace_of(found))


def test_tokens_of_a_stop_string_that_a_server_lists_do_not_count_as_the_story_s() -> None:
    answer = parallel("one", ["one", "#", "#"], [-0.5, -1.0, -2.0], 3, "stop")
    found = read_tokens(answer, "stop_string", "unmodified")
    assert found.story_token_count == 1
    assert len(trace_of(found).token_ids) == 3
    # It ends within a token: how many tokens the story has is not known.
    within = parallel("on", ["one", "#"], [-0.5, -1.0], 2, "stop")
    assert read_tokens(within, "stop_string", "unmodified").story_token_count is None


def test_llama_cpp_drops_the_tokens_of_a_stop_string_and_what_spells_the_text_is_kept() -> None:
    answer = listed("one", [(1, "one", -0.5), (2, "", -1.0)], 4, "stop")
    assert read_stop_reason(answer, ["##"]) == "stop_string"
    found = read_tokens(answer, "stop_string", "unmodified")
    assert found.story_token_count == 1
    assert trace_of(found).log_probability_nats.tolist() == [-0.5]
    # More was dropped than the stop string took.
    short = listed("one two", [(1, "one", -0.5)], 3, "stop")
    assert is_unknown(trace_of(read_tokens(short, "stop_string", "unmodified")))


def test_an_end_token_is_none_of_the_story_s() -> None:
    answer = listed("one", [(1, "one", -0.5), (2, "", -1.0)], 2, "stop")
    assert read_stop_reason(answer, ["##"]) == "eos"
    assert read_tokens(answer, "eos", "unmodified").story_token_count == 1
    named = parallel("one", ["one", "</s>"], [-0.5, -1.0], 2, "stop")
    assert read_tokens(named, "eos", "unmodified").story_token_count == 1
    # The text of a token that could have begun a stop string came with the end token.
    deferred = listed("#", [(1, "", -0.5), (2, "#", -1.0)], 2, "stop")
    assert read_tokens(deferred, "eos", "unmodified").story_token_count is None


@pytest.mark.parametrize(
    ("changes", "asked", "reason"),
    [
        ({"finish_reason": "length"}, ["#"], "length"),
        ({"finish_reason": "stop"}, [], "eos"),
        ({"finish_reason": "stop"}, ["#"], None),
        ({"finish_reason": "stop", "stop_reason": None}, ["#"], "eos"),
        ({"finish_reason": "stop", "stop_reason": "#"}, ["#"], "stop_string"),
    ],
)
def test_a_stop_is_the_end_token_only_where_that_is_certain(
    changes: dict[str, Any], asked: list[str], reason: StopReason | None
) -> None:
    answer = CompletionAnswer.model_validate({"choices": [{"text": "a"} | changes]})
    assert read_stop_reason(answer, asked) == reason


@pytest.mark.parametrize("reason", [None, "content_filter", "abort"])
def test_a_story_that_was_cut_off_otherwise_is_refused(reason: str | None) -> None:
    answer = CompletionAnswer.model_validate({"choices": [{"text": "a", "finish_reason": reason}]})
    with pytest.raises(EndpointError, match="must end a story by stop or length"):
        read_stop_reason(answer, [])


def test_logits_are_no_log_probabilities() -> None:
    with pytest.raises(EndpointError, match=r"at most 0, got 3\.5"):
        read_tokens(parallel("a", ["a"], [3.5], 1), "length", "unmodified")


def test_what_stands_for_minus_infinity_is_no_value() -> None:
    floor = parallel("ab", ["a", "b"], [-9999.0, -0.5], 2)
    trace = trace_of(read_tokens(floor, "length", "unmodified"))
    assert np.isnan(trace.log_probability_nats).tolist() == [True, False]


def test_more_tokens_than_values_are_refused() -> None:
    with pytest.raises(EndpointError, match="listed 1 for 2 tokens"):
        read_tokens(parallel("ab", ["a", "b"], [-0.5], 2), "length", "unmodified")
