"""An OpenAI-compatible completions endpoint as a writer of stories: vLLM, llama.cpp and others.

What a server does beside what it is told differs: llama.cpp cuts by default to 40 tokens and a mass
of 0.95. So an entry names its server, everything that is off is switched off in words, and a
strategy that a server cannot be held to is refused. A sample's seed is derived from its key;
whether the same seed gives the same story again is the server's promise, not ours.
"""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Sequence
from typing import Any

import httpx
from pydantic import ValidationError

from flows.language_models.completion_answers import (
    CompletionAnswer,
    read_stop_reason,
    read_tokens,
)
from flows.language_models.endpoint_options import log_probability_definition, server_options
from flows.language_models.errors import EndpointError, EndpointUnavailableError
from flows.language_models.ready_made import LanguageModelEntry
from flows.language_models.samples import (
    GeneratedSample,
    GenerationLimits,
    LanguageModelIdentity,
    SampleRequest,
    failed_sample,
)
from flows.language_models.strategies import DecodingStrategy
from flows.language_models.templates import Template
from udfs.packaged_models import first_sentence

TIMEOUT = httpx.Timeout(600.0, connect=10.0, pool=None)
"""Seconds: a busy server keeps a story waiting for minutes; one that is down never connects.
Stories beyond the batch wait for one of its connections however long that takes.
"""

STOP_ASKING = threading.Event()
"""Set by whoever was interrupted while a server is asked: answers on their way are given up. A
thread that waits for a server cannot be ended from outside, and Ctrl-C would wait with it.
"""

_LOOK_SECONDS = 0.2
"""How often a waiting writer looks for `STOP_ASKING`."""

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
        self._definition = log_probability_definition(entry)

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
        options = server_options(self._entry.endpoint_server, strategy, self._definition)
        return asyncio.run(self._ask_all(requests, options, limits))

    async def _ask_all(
        self, requests: Sequence[SampleRequest], options: dict[str, Any], limits: GenerationLimits
    ) -> list[GeneratedSample]:
        at_once = httpx.Limits(max_connections=self._batch_size)
        async with httpx.AsyncClient(timeout=TIMEOUT, limits=at_once) as client:
            tasks = [
                asyncio.create_task(self._ask(client, each, options, limits, len(requests)))
                for each in requests
            ]
            pending = set(tasks)
            try:
                while pending:
                    done, pending = await asyncio.wait(
                        pending, timeout=_LOOK_SECONDS, return_when=asyncio.FIRST_EXCEPTION
                    )
                    for task in done:
                        task.result()
                    if pending and STOP_ASKING.is_set():
                        raise EndpointError(
                            f"the endpoint {self._entry.endpoint} was given up, interrupted while "
                            "it was asked; run again: what was finished is kept."
                        )
                return [task.result() for task in tasks]
            finally:
                for task in tasks:
                    task.cancel()
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _ask(
        self,
        client: httpx.AsyncClient,
        request: SampleRequest,
        options: dict[str, Any],
        limits: GenerationLimits,
        row_count: int,
    ) -> GeneratedSample:
        if refusal := self._template.refusal(request.prompt_text):
            return failed_sample(request, refusal, None)
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
            answer = await client.post(self._url, json=body)
        except httpx.HTTPError as error:
            raise EndpointUnavailableError(
                f"the endpoint {self._entry.endpoint} must answer, got "
                f"{type(error).__name__}: {first_sentence(error) or 'no reason'}; start the "
                "server and run again: what was finished is kept."
            ) from None
        seconds = time.perf_counter() - started
        if answer.status_code == httpx.codes.OK:
            return self._sample(request, answer, limits, seconds, row_count)
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
        self,
        request: SampleRequest,
        answer: httpx.Response,
        limits: GenerationLimits,
        seconds: float,
        row_count: int,
    ) -> GeneratedSample:
        try:
            found = CompletionAnswer.model_validate_json(answer.content)
        except ValidationError as error:
            place = ".".join(map(str, error.errors()[0]["loc"]))
            raise EndpointError(
                f"the endpoint {self._entry.endpoint} must answer as the completions interface has "
                f"it, got {answer.text[:80]!r} ({place or 'no JSON'}: {error.errors()[0]['msg']}); "
                "check its address, up to and with /v1."
            ) from None
        text, usage = found.choices[0].text, found.usage
        counted = usage.completion_tokens if usage is not None else None
        if counted is not None and counted > limits.maximum_story_tokens:
            raise EndpointError(
                f"the endpoint must keep to {limits.maximum_story_tokens:,} tokens, wrote "
                f"{counted:,}; check endpoint_server."
            )
        if met := next((stop for stop in limits.stop_strings if stop in text), None):
            raise EndpointError(
                f"the endpoint must stop before {met!r}, went on; check endpoint_server."
            )
        stop_reason = read_stop_reason(found, limits.stop_strings)
        tokens = read_tokens(found, stop_reason, self._definition)
        return GeneratedSample(
            sample_key=request.sample_key,
            text=text,
            stop_reason=stop_reason,
            failure=None,
            prompt_token_count=usage.prompt_tokens if usage is not None else None,
            story_token_count=tokens.story_token_count,
            wall_seconds=seconds / row_count,
            row_count=row_count,
            padded_token_count=None,
            trace=tokens.trace,
        )


def _reason(answer: httpx.Response) -> str:
    try:
        found = answer.json()
    except ValueError:
        return answer.text[:200]
    said = found.get("error") or found.get("detail") or found if isinstance(found, dict) else found
    return str(said.get("message", said) if isinstance(said, dict) else said)[:200]


def _is_about_length(answer: httpx.Response) -> bool:
    return answer.status_code in {400, 413} and "context" in _reason(answer).lower()
