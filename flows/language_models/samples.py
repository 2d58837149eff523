"""What a backend is asked and what it answers: the one interface all engines share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from flows.language_models.strategies import DecodingStrategy
from udfs.identity import content_id

StopReason = Literal["eos", "length", "stop_string"]


@dataclass(frozen=True)
class LanguageModelIdentity:
    """What stories of a language model depend on, beyond the request itself."""

    language_model_name: str
    weights_name: str
    """Hub id, folder or file name, packaged name, or the model name at an endpoint."""
    language_model_revision: str
    """Commit on the hub, else ``sha256:`` and the first 32 digits over weights and tokenizer."""
    weights_sha256: str | None
    """None: an endpoint does not show its weights."""
    tokenizer_sha256: str | None
    quantization: str
    dtype_name: str
    template_name: str
    """``chat`` or ``plain``."""
    template_sha256: str
    template_text: str
    backend_name: str
    """``transformers`` or ``completions_endpoint``."""
    parameter_count: int | None = None
    context_tokens: int | None = None
    """Tokens that prompt and story may have together. None: not known."""

    @property
    def language_model_id(self) -> str:
        """Identity of the language model as it was loaded."""
        known = asdict(self)
        del known["parameter_count"], known["context_tokens"]
        return content_id("language_model", *known.values())


@dataclass(frozen=True)
class SampleRequest:
    """One story to write."""

    sample_key: str
    """32 hexadecimal digits, the identity of the sample: all that its randomness depends on."""
    prompt_text: str


@dataclass(frozen=True)
class GenerationLimits:
    """Where a story ends if the language model does not end it."""

    maximum_story_tokens: int
    stop_strings: tuple[str, ...] = ()
    """The story ends before the first of these; none by default."""


def _no_tokens() -> NDArray[np.int32]:
    return np.empty(0, np.int32)


def _no_values() -> NDArray[np.float32]:
    return np.empty(0, np.float32)


@dataclass(frozen=True)
class TokenTrace:
    """The tokens of one sample as they came, the one that ended it included.

    All arrays have the shape (tokens,). Values are of the language model itself, at temperature 1
    and untruncated, and (``sampling_…``) of the distribution that was drawn from.
    """

    token_ids: NDArray[np.int32] = field(default_factory=_no_tokens)
    confidence: NDArray[np.float32] = field(default_factory=_no_values)
    """Probability of the likeliest token, which need not be the one that came."""
    log_probability_nats: NDArray[np.float32] = field(default_factory=_no_values)
    sampling_confidence: NDArray[np.float32] = field(default_factory=_no_values)
    sampling_log_probability_nats: NDArray[np.float32] = field(default_factory=_no_values)


@dataclass(frozen=True)
class GeneratedSample:
    """What became of a request. Without a text it failed, and *failure* says why."""

    sample_key: str
    text: str | None
    stop_reason: StopReason | None
    failure: str | None
    prompt_token_count: int | None
    story_token_count: int | None
    """Tokens of the text: neither prompt nor end token nor what followed a stop string's start."""
    wall_seconds: float
    """The batch's time divided by its rows."""
    row_count: int
    """Rows of the batch it was written in."""
    padded_token_count: int | None
    """Tokens that the batch's prompts were padded to."""
    trace: TokenTrace | None
    """None: the backend gives no tokens."""


def failed_sample(
    request: SampleRequest, failure: str, prompt_token_count: int | None
) -> GeneratedSample:
    """Return the ledger's answer for a request that no text came of."""
    return GeneratedSample(
        sample_key=request.sample_key,
        text=None,
        stop_reason=None,
        failure=failure,
        prompt_token_count=prompt_token_count,
        story_token_count=None,
        wall_seconds=0.0,
        row_count=1,
        padded_token_count=None,
        trace=None,
    )


class StoryWriter(Protocol):
    """An engine: ready to write stories for one language model."""

    @property
    def identity(self) -> LanguageModelIdentity:
        """What the stories depend on."""

    def write(
        self,
        requests: Sequence[SampleRequest],
        strategy: DecodingStrategy,
        limits: GenerationLimits,
    ) -> list[GeneratedSample]:
        """Return one sample per request, in their order."""
