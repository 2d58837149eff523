"""Claims about endpoints that answer with anything but a story: one sentence each, never a row."""

from __future__ import annotations

import json
import threading
from typing import Any

import httpx
import pytest

from flows.language_models import completions_endpoint
from flows.language_models.completions_endpoint import CompletionsEndpoint
from flows.language_models.errors import EndpointError, EndpointUnavailableError
from flows.language_models.ready_made import LanguageModelEntry
from flows.language_models.samples import GeneratedSample, GenerationLimits, SampleRequest
from flows.language_models.strategies import strategy_named
from flows.language_models.templates import choose_template
from tests.generation.loopback import Answer, answering
from udfs.identity import content_id

GOOD: dict[str, Any] = {
    "choices": [{"text": "a story", "finish_reason": "stop"}],
    "usage": {"prompt_tokens": 5, "completion_tokens": 3},
}


def ask(
    answer: Answer, *, stop_strings: tuple[str, ...] = (), count: int = 1
) -> list[GeneratedSample]:
    with answering(answer) as url:
        entry = LanguageModelEntry("served", "it", endpoint=url, endpoint_server="vllm")
        writer = CompletionsEndpoint(entry, choose_template(None, "plain", "the test"), 4)
        requests = [SampleRequest(content_id("bad", place), "A prompt.") for place in range(count)]
        return writer.write(requests, strategy_named("greedy"), GenerationLimits(8, stop_strings))


def always(body: Any, status: int = 200) -> Answer:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return lambda _: (status, content)


def with_choice(**changes: Any) -> dict[str, Any]:
    return GOOD | {"choices": [GOOD["choices"][0] | changes]}


@pytest.mark.parametrize(
    "body",
    [
        b"<html>It works</html>",
        b"",
        b"null",
        b"[]",
        b'{"choices": [{"text": "cut off in the mid',
        b'{"choices": [{"text": "half a pair \\ud83d", "finish_reason": "stop"}]}',
        b'{"choices": [{"text": "no text \xff", "finish_reason": "stop"}]}',
        {},
        {"choices": []},
        {"choices": ["a story"]},
        with_choice(text=None),
        with_choice(text=["a", "story"]),
        with_choice(logprobs="none"),
        GOOD | {"usage": []},
        GOOD | {"usage": {"completion_tokens": -1}},
        GOOD | {"usage": {"completion_tokens": "many"}},
    ],
)
def test_an_answer_of_another_form_is_one_sentence(body: Any) -> None:
    with pytest.raises(EndpointError, match="must answer as the completions interface has it"):
        ask(always(body))


def test_a_server_that_does_not_keep_to_the_request_is_refused() -> None:
    with pytest.raises(EndpointError, match="must keep to 8 tokens, wrote 9"):
        ask(always(GOOD | {"usage": {"prompt_tokens": 5, "completion_tokens": 9}}))
    with pytest.raises(EndpointError, match="must stop before ' st', went on"):
        ask(always(GOOD), stop_strings=(" st",))


@pytest.mark.parametrize("status", [408, 429, 500, 502, 503, 504])
def test_an_overloaded_server_is_worth_another_try(status: int) -> None:
    with pytest.raises(EndpointUnavailableError, match=f"answered {status}: busy; check"):
        ask(always({"error": {"message": "busy"}}, status))


@pytest.mark.parametrize("status", [301, 400, 401, 404, 422])
def test_a_refusal_is_not_tried_again(status: int) -> None:
    with pytest.raises(EndpointError, match=f"answered {status}") as caught:
        ask(always({"detail": "no"}, status))
    assert not isinstance(caught.value, EndpointUnavailableError)


def test_a_prompt_beyond_the_server_s_context_fails_alone() -> None:
    places = iter([False, True, False])

    def answer(_: dict[str, Any]) -> tuple[int, bytes]:
        if next(places):
            return 400, b'{"error": {"message": "the request exceeds the available context size"}}'
        return 200, json.dumps(GOOD).encode()

    samples = ask(answer, count=3)
    failures = [sample.failure for sample in samples if sample.text is None]
    assert len(failures) == 1
    assert "context size" in (failures[0] or "")


def test_a_server_that_never_answers_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(completions_endpoint, "TIMEOUT", httpx.Timeout(0.2))
    released = threading.Event()

    def answer(_: dict[str, Any]) -> tuple[int, bytes]:
        released.wait(timeout=10)
        return 200, json.dumps(GOOD).encode()

    try:
        with pytest.raises(EndpointUnavailableError, match="must answer, got ReadTimeout"):
            ask(answer)
    finally:
        released.set()


def test_ctrl_c_gives_up_a_server_that_keeps_silent() -> None:
    asked, released = threading.Event(), threading.Event()

    def answer(_: dict[str, Any]) -> tuple[int, bytes]:
        asked.set()
        released.wait(timeout=30)
        return 200, json.dumps(GOOD).encode()

    interruption = threading.Thread(
        target=lambda: asked.wait(timeout=30) and completions_endpoint.STOP_ASKING.set()
    )
    interruption.start()
    # The server is let go only afterwards, so that whoever waits for its answer is told apart.
    letting_go = threading.Timer(20.0, released.set)
    letting_go.start()
    try:
        with pytest.raises(EndpointError, match="was given up, interrupted while it was asked"):
            ask(answer, count=2)
    finally:
        letting_go.cancel()
        completions_endpoint.STOP_ASKING.clear()
        released.set()
        interruption.join()


def test_a_prompt_reaches_the_server_as_it_is() -> None:
    seen: list[dict[str, Any]] = []

    def answer(body: dict[str, Any]) -> tuple[int, bytes]:
        seen.append(body)
        return 200, json.dumps(GOOD).encode()

    ask(answer)
    assert seen[0]["prompt"].startswith("Prompt: A prompt.")
    assert (seen[0]["max_tokens"], seen[0]["logprobs"]) == (8, 1)
