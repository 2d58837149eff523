"""An OpenAI-compatible completions endpoint as a writer of stories: vLLM, llama.cpp and others.

What a server does beside what it is told differs: llama.cpp cuts by default to 40 tokens and a mass
of 0.95. So an entry names its server, everything that is off is switched off in words, and a
strategy that a server cannot be held to is refused. A sample's seed is derived from its key;
whether the same seed gives the same story again is the server's promise, not ours.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import numpy as np
from numpy.typing import NDArray

from flows.language_models.endpoint_options import server_options
from flows.language_models.errors import EndpointError, EndpointUnavailableError
from flows.language_models.ready_made import LanguageModelEntry
from flows.language_models.samples import (
    GeneratedSample,
    GenerationLimits,
    LanguageModelIdentity,
    SampleRequest,
    StopReason,
    TokenTrace,
    failed_sample,
)
from flows.language_models.strategies import DecodingStrategy
from flows.language_models.templates import Template
from udfs.packaged_models import first_sentence

ANSWER_SECONDS = 600.0
"""Longest wait for one story; a busy server keeps requests waiting for minutes."""

SEED_BITS = 31
"""Servers keep seeds in signed 32-bit numbers."""

_OVERLOADED = frozenset({408, 425, 429, 500, 502, 503, 504})
"""Answers that another try can change."""


def identify_endpoint(entry: LanguageModelEntry, template: Template) -> LanguageModelIdentity:
    """Return what is known of the language model behind an endpoint.

    Its address is no part of it: the same server at another port serves the same stories. What the
    server does not say, the study's ``revision`` can.
    """
    return LanguageModelIdentity(
        language_model_name=entry.language_model_name,
        weights_name=entry.weights,
        language_model_revision=entry.revision or f"endpoint:{entry.endpoint_server}",
        weights_sha256=None,
        tokenizer_sha256=None,
        quantization="unknown",
        dtype_name="unknown",
        template_name=template.template_name,
        template_sha256=template.template_sha256,
        template_text=template.template_text,
        backend_name="completions_endpoint",
    )


class CompletionsEndpoint:
    """A server that was told which language model it serves."""

    def __init__(self, entry: LanguageModelEntry, template: Template, batch_size: int) -> None:
        self._entry = entry
        self._template = template
        self._batch_size = batch_size
        self._url = f"{(entry.endpoint or '').rstrip('/')}/completions"
        self._identity = identify_endpoint(entry, template)

    @property
    def identity(self) -> LanguageModelIdentity:
        """What the stories depend on, as far as a server says."""
        return self._identity

    def write(
        self,
        requests: Sequence[SampleRequest],
        strategy: DecodingStrategy,
        limits: GenerationLimits,
    ) -> list[GeneratedSample]:
        """Ask for all stories at once, as the server batches them itself.

        Raises
        ------
        EndpointUnavailableError
            The server does not answer, or is overloaded.
        EndpointError
            The server cannot be held to the strategy, or refuses the request.
        """
        options = server_options(self._entry.endpoint_server, strategy)
        with (
            httpx.Client(timeout=ANSWER_SECONDS) as client,
            ThreadPoolExecutor(self._batch_size) as pool,
        ):
            waiting = [
                pool.submit(self._ask, client, request, options, limits, len(requests))
                for request in requests
            ]
            return [answer.result() for answer in waiting]

    def _ask(
        self,
        client: httpx.Client,
        request: SampleRequest,
        options: dict[str, Any],
        limits: GenerationLimits,
        row_count: int,
    ) -> GeneratedSample:
        body = {
            "model": self._entry.weights,
            "prompt": self._prompt(request.prompt_text),
            "max_tokens": limits.maximum_story_tokens,
            "seed": int(request.sample_key, 16) % 2**SEED_BITS,
            **({"stop": list(limits.stop_strings)} if limits.stop_strings else {}),
            **options,
        }
        started = time.perf_counter()
        try:
            answer = client.post(self._url, json=body)
        except httpx.HTTPError as error:
            raise EndpointUnavailableError(
                f"the endpoint {self._entry.endpoint} must answer, got "
                f"{type(error).__name__}: {first_sentence(error) or 'no reason'}; start the "
                "server and run again: what was finished is kept."
            ) from None
        seconds = time.perf_counter() - started
        if answer.status_code == httpx.codes.OK:
            return self._sample(request, answer, seconds, row_count)
        if _is_about_length(answer):
            return failed_sample(request, f"the endpoint says: {_reason(answer)}", None)
        kind = EndpointUnavailableError if answer.status_code in _OVERLOADED else EndpointError
        raise kind(
            f"the endpoint {self._entry.endpoint} must accept a completion, answered "
            f"{answer.status_code}: {_reason(answer)}; check endpoint_server and weights."
        )

    def _prompt(self, prompt_text: str) -> str:
        """Return the framed prompt without its begin-of-text token, which the server adds."""
        text = self._template.framed_text(prompt_text)
        begin = getattr(self._template.tokenizer, "bos_token", None)
        adds_begin = getattr(self._template.tokenizer, "add_bos_token", False)
        return text.removeprefix(begin) if begin and adds_begin else text

    def _sample(
        self, request: SampleRequest, answer: httpx.Response, seconds: float, row_count: int
    ) -> GeneratedSample:
        try:
            found = answer.json()
            choice = found["choices"][0]
            text = str(choice["text"])
        except (ValueError, KeyError, IndexError, TypeError):
            raise EndpointError(
                f"the endpoint {self._entry.endpoint} must answer with choices[0].text, got "
                f"{answer.text[:80]!r}; it is no completions endpoint."
            ) from None
        usage = found.get("usage") or {}
        stop_reason = _stop_reason(choice)
        return GeneratedSample(
            sample_key=request.sample_key,
            text=text,
            stop_reason=stop_reason,
            failure=None,
            prompt_token_count=usage.get("prompt_tokens"),
            # Servers differ in whether they count the end token, or what spelled the stop string.
            story_token_count=(usage.get("completion_tokens") if stop_reason == "length" else None),
            wall_seconds=seconds / row_count,
            row_count=row_count,
            padded_token_count=None,
            trace=_trace(choice.get("logprobs")),
        )


def _stop_reason(choice: dict[str, Any]) -> StopReason | None:
    """Return the ledger's word; ``stop`` alone may have been either, and is read as the model's."""
    reason = choice.get("finish_reason")
    if reason == "length":
        return "length"
    if reason == "stop":
        return "stop_string" if isinstance(choice.get("stop_reason"), str) else "eos"
    return None


def _trace(given: dict[str, Any] | None) -> TokenTrace | None:
    """Return what the server says of its tokens; −1 and NaN where it says nothing."""
    found = (given or {}).get("token_logprobs")
    if not given or not found:
        return None
    unknown: NDArray[np.float32] = np.full(len(found), np.nan, np.float32)
    values = np.array([np.nan if value is None else value for value in found], np.float32)
    top = given.get("top_logprobs") or []
    confidence = unknown.copy()
    for place, likeliest in enumerate(top[: len(found)]):
        if likeliest:
            confidence[place] = np.exp(max(likeliest.values()))
    return TokenTrace(np.full(len(found), -1, np.int32), confidence, values, unknown, unknown)


def _reason(answer: httpx.Response) -> str:
    try:
        found = answer.json()
    except ValueError:
        return answer.text[:200]
    said = found.get("error") or found.get("detail") or found if isinstance(found, dict) else found
    return str(said.get("message", said) if isinstance(said, dict) else said)[:200]


def _is_about_length(answer: httpx.Response) -> bool:
    return answer.status_code in {400, 413} and "context" in _reason(answer).lower()
