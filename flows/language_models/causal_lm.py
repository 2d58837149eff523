"""Any causal language model of the transformers library as a writer of stories.

A sample's tokens depend on its key and its prompt, not on its neighbours, the batch size or what
was written before: the randomness is its own, and padding is masked. In float32 the logits still
move by about 5e-5 with the tensor's shape and the number of threads, which can flip a token whose
two best variates are that close; in 16 bits they move by up to 0.9, so that only float32 reproduces
across batch shapes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

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
from flows.language_models.sampling_noise import SamplingNoise
from flows.language_models.strategies import DecodingStrategy
from flows.language_models.templates import Template, choose_template
from flows.language_models.token_steps import pad_prompts, write_tokens
from flows.language_models.weights import (
    LocatedWeights,
    choose_device,
    choose_dtype,
    choose_quantization,
    count_context,
    count_parameters,
    load_tokenizer,
    load_weights,
    locate_weights,
)

_OUT_OF_MEMORY_WORDS = ("not enough memory", "can't allocate memory", "out of memory")
"""A CPU has no exception class of its own for it."""


@dataclass(frozen=True)
class ResolvedLanguageModel:
    """A language model found and identified, its weights not yet loaded."""

    identity: LanguageModelIdentity
    located: LocatedWeights
    template: Template
    dtype: torch.dtype
    device: torch.device


def resolve_causal_lm(
    entry: LanguageModelEntry, model_cache: Path, device_name: str | None = None
) -> ResolvedLanguageModel:
    """Find out everything that a story's identity depends on, short of loading the weights.

    Raises
    ------
    LanguageModelError
        The weights, the tokenizer or the template is not there.
    """
    located = locate_weights(entry, model_cache)
    tokenizer = load_tokenizer(located.folder)
    template = choose_template(tokenizer, entry.template, entry.language_model_name)
    device = choose_device(device_name)
    dtype = choose_dtype(entry, device)
    identity = LanguageModelIdentity(
        language_model_name=entry.language_model_name,
        weights_name=_shown_name(entry.weights),
        language_model_revision=located.revision,
        weights_sha256=located.weights_sha256,
        tokenizer_sha256=located.tokenizer_sha256,
        quantization=choose_quantization(entry, located, device),
        dtype_name=str(dtype).removeprefix("torch."),
        template_name=template.template_name,
        template_sha256=template.template_sha256,
        template_text=template.template_text,
        backend_name="transformers",
        parameter_count=count_parameters(located.folder),
        context_tokens=count_context(located.folder),
    )
    return ResolvedLanguageModel(identity, located, template, dtype, device)


def load_causal_lm(resolved: ResolvedLanguageModel, batch_size: int) -> CausalLanguageModel:
    """Load the weights of *resolved*.

    Raises
    ------
    LanguageModelError
        They do not load on this machine as asked.
    """
    model = load_weights(
        resolved.located, resolved.dtype, resolved.device, resolved.identity.quantization
    )
    return CausalLanguageModel(resolved.identity, model, resolved.template, batch_size)


class CausalLanguageModel:
    """A loaded language model, its tokenizer and the frame its prompts get."""

    def __init__(
        self,
        identity: LanguageModelIdentity,
        model: Any,
        template: Template,
        batch_size: int,
    ) -> None:
        self._identity = identity
        self._model = model
        self._template = template
        self._tokenizer = template.tokenizer
        self.batch_size = batch_size
        """Rows written at once; halved for good when memory runs out."""
        self._end_ids = end_token_ids(model, self._tokenizer)

    @property
    def identity(self) -> LanguageModelIdentity:
        """What the stories depend on."""
        return self._identity

    def prompt_token_count(self, prompt_text: str) -> int:
        """Return the length of the framed prompt in tokens."""
        return len(self._template.framed(prompt_text))

    def write(
        self,
        requests: Sequence[SampleRequest],
        strategy: DecodingStrategy,
        limits: GenerationLimits,
    ) -> list[GeneratedSample]:
        """Write a story per request, in their order; what cannot be written says why."""
        framed = {
            request.prompt_text: self._template.framed(request.prompt_text) for request in requests
        }
        written: dict[str, GeneratedSample] = {}
        fitting = []
        for request in requests:
            failure = self._template.refusal(request.prompt_text) or self._misfit(
                len(framed[request.prompt_text]), limits
            )
            if failure is None:
                fitting.append(request)
            else:
                count = len(framed[request.prompt_text])
                written[request.sample_key] = failed_sample(request, failure, count)
        while fitting:
            group, rest = fitting[: self.batch_size], fitting[self.batch_size :]
            try:
                samples = self._write_batch(group, framed, strategy, limits)
            except RuntimeError as error:
                if not _is_out_of_memory(error):
                    raise
                samples = self._after_shortage(group, framed)
            if not samples:
                continue
            written |= {sample.sample_key: sample for sample in samples}
            fitting = rest
        return [written[request.sample_key] for request in requests]

    def _after_shortage(
        self, group: Sequence[SampleRequest], framed: dict[str, list[int]]
    ) -> list[GeneratedSample]:
        """Halve the batch and return nothing; a batch of one row already has failed."""
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        if len(group) > 1:
            self.batch_size = max(1, len(group) // 2)
            return []
        detail = "the memory must hold a batch of one story, and did not; use a smaller model"
        return [
            failed_sample(request, detail, len(framed[request.prompt_text])) for request in group
        ]

    def _misfit(self, prompt_token_count: int, limits: GenerationLimits) -> str | None:
        context = self._identity.context_tokens
        if context is None or prompt_token_count + limits.maximum_story_tokens <= context:
            return None
        return (
            f"prompt and story must fit the context of {context:,} tokens, got "
            f"{prompt_token_count:,} of the framed prompt and {limits.maximum_story_tokens:,} of "
            "the story"
        )

    def _write_batch(
        self,
        group: Sequence[SampleRequest],
        framed: dict[str, list[int]],
        strategy: DecodingStrategy,
        limits: GenerationLimits,
    ) -> list[GeneratedSample]:
        started = time.perf_counter()
        rows = [framed[request.prompt_text] for request in group]
        pad_id = self._tokenizer.pad_token_id
        prompts = pad_prompts(
            rows, 0 if pad_id is None else pad_id, next(self._model.parameters()).device
        )
        traces = write_tokens(
            self._model,
            prompts,
            strategy,
            SamplingNoise([request.sample_key for request in group]),
            end_ids=self._end_ids,
            maximum_tokens=limits.maximum_story_tokens,
            stop_after=self._stop_after(limits.stop_strings),
        )
        seconds = (time.perf_counter() - started) / len(group)
        return [
            self._sample(request, trace, limits, seconds, rows, prompts.token_ids.shape[1])
            for request, trace in zip(group, traces, strict=True)
        ]

    def _sample(
        self,
        request: SampleRequest,
        trace: TokenTrace,
        limits: GenerationLimits,
        seconds: float,
        rows: Sequence[Sequence[int]],
        width: int,
    ) -> GeneratedSample:
        story, stop_reason = self._cut(trace.token_ids.tolist(), limits)
        is_sound = bool(np.isfinite(trace.log_probability_nats).all())
        return GeneratedSample(
            sample_key=request.sample_key,
            text=self._decode(story) if is_sound else None,
            stop_reason=stop_reason if is_sound else None,
            failure=None if is_sound else "the language model must give finite logits, gave others",
            prompt_token_count=self.prompt_token_count(request.prompt_text),
            story_token_count=len(story) if is_sound else None,
            wall_seconds=seconds,
            row_count=len(rows),
            padded_token_count=width,
            trace=trace if is_sound else None,
        )

    def _cut(self, token_ids: list[int], limits: GenerationLimits) -> tuple[list[int], StopReason]:
        """Return the story's tokens and what ended it; cut by token index."""
        if token_ids[-1] in self._end_ids:
            return token_ids[:-1], "eos"
        if self._first_stop(self._decode(token_ids), limits.stop_strings) is None:
            return token_ids, "length"
        length = len(token_ids) - 1
        start = self._first_stop(self._decode(token_ids), limits.stop_strings) or 0
        while length and len(self._decode(token_ids[:length])) > start:
            length -= 1
        return token_ids[:length], "stop_string"

    def _stop_after(self, stop_strings: tuple[str, ...]) -> Any:
        if not stop_strings:
            return None
        return lambda ids: self._first_stop(self._decode(ids), stop_strings) is not None

    @staticmethod
    def _first_stop(text: str, stop_strings: tuple[str, ...]) -> int | None:
        found = [place for stop in stop_strings if (place := text.find(stop)) >= 0]
        return min(found, default=None)

    def _decode(self, token_ids: Sequence[int]) -> str:
        """Return the text of *token_ids*, white space as it came."""
        text: str = self._tokenizer.decode(
            token_ids, skip_special_tokens=True, clean_up_tokenization_spaces=False
        )
        return text


def end_token_ids(model: Any, tokenizer: Any) -> frozenset[int]:
    """Return every token that ends a story: those of the generation config and the tokenizer's."""
    configured = getattr(getattr(model, "generation_config", None), "eos_token_id", None)
    found = configured if isinstance(configured, list) else [configured]
    return frozenset(
        token_id for token_id in (*found, tokenizer.eos_token_id) if token_id is not None
    )


def _is_out_of_memory(error: RuntimeError) -> bool:
    if isinstance(error, torch.OutOfMemoryError):
        return True
    return any(words in str(error).lower() for words in _OUT_OF_MEMORY_WORDS)


def _shown_name(weights: str) -> str:
    """Return the name of *weights* without the folders that lead to it on this machine."""
    path = Path(weights).expanduser()
    return path.name if path.exists() else weights
