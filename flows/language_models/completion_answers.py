"""What a completions endpoint answers, read strictly: a server may send anything.

Two shapes of token probabilities are known. The older completions interface (vLLM,
llama-cpp-python) has parallel lists; llama.cpp's own server has one entry per token. Neither says
what it leaves out, so what is read is held against the tokens that the server counted and the text.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, Field, NonNegativeInt

from flows.language_models.errors import EndpointError
from flows.language_models.ready_made import LogProbabilityDefinition
from flows.language_models.samples import StopReason, TokenTrace

LARGEST_ROUNDING_NATS = 1e-4
"""A log-softmax in float32 over 50,000 tokens is above 0 by less."""

SMALLEST_NATS = -9999.0
"""vLLM writes it, and llama.cpp the smallest float, in place of minus infinity."""


class _Likeliest(BaseModel):
    logprob: float


class _Entry(BaseModel):
    """A token as llama.cpp's own server has it."""

    id: int
    logprob: float
    bytes: list[Annotated[int, Field(ge=0, le=255)]]
    """What the server sent after the token: nothing for the end token, and nothing while it waits
    whether a stop string is being spelled."""
    top_logprobs: list[_Likeliest] = []


class _TokenProbabilities(BaseModel):
    content: list[_Entry] | None = None
    tokens: list[str] | None = None
    token_logprobs: list[float | None] | None = None
    top_logprobs: list[dict[str, float | None] | None] | None = None


class _Choice(BaseModel):
    text: str
    finish_reason: str | None = None
    stop_reason: str | int | None = None
    """vLLM's own word: the stop string that was met, None for an end token."""
    logprobs: _TokenProbabilities | None = None


class _Usage(BaseModel):
    prompt_tokens: NonNegativeInt | None = None
    completion_tokens: NonNegativeInt | None = None


class CompletionAnswer(BaseModel):
    """The parts of an answer that are read."""

    choices: list[_Choice] = Field(min_length=1)
    usage: _Usage | None = None


@dataclass(frozen=True)
class EndpointTokens:
    """What an endpoint says of the tokens of one story."""

    story_token_count: int | None
    """Tokens of the text. None: the server does not say which they are."""
    trace: TokenTrace | None
    """All of it unknown where the server says something of some tokens only. None: of none."""


@dataclass(frozen=True)
class _Given:
    """One distribution's values for the tokens that a server lists."""

    token_ids: NDArray[np.int32]
    pieces: list[bytes]
    log_probability_nats: NDArray[np.float32]
    confidence: NDArray[np.float32]
    is_last_deferred: bool = False
    """Whether the last token, if it ends the story, came with text of the one before."""

    def first(self, count: int) -> _Given:
        return _Given(
            self.token_ids[:count],
            self.pieces[:count],
            self.log_probability_nats[:count],
            self.confidence[:count],
        )

    def tokens_spelling(self, text: str) -> int | None:
        """Return how many leading tokens spell *text*, None if it ends within one or beyond."""
        wanted, spelled = text.encode(), 0
        for count, piece in enumerate([b"", *self.pieces]):
            if not wanted[spelled:].startswith(piece):
                return None
            spelled += len(piece)
            if spelled == len(wanted):
                return count
        return None


def read_stop_reason(answer: CompletionAnswer, stop_strings: Sequence[str]) -> StopReason | None:
    """Return what ended the story, None where *stop* may be the end token or a stop string.

    Raises
    ------
    EndpointError
        It was neither of them nor the length: the story is not one that was finished.
    """
    choice = answer.choices[0]
    if choice.finish_reason == "length":
        return "length"
    if choice.finish_reason != "stop":
        raise EndpointError(
            "the endpoint must end a story by stop or length, ended it by "
            f"{choice.finish_reason!r}; look into the server's log."
        )
    if isinstance(choice.stop_reason, str):
        return "stop_string"
    if not stop_strings or "stop_reason" in choice.model_fields_set:
        return "eos"
    return _guarded_reason(answer)


def _guarded_reason(answer: CompletionAnswer) -> Literal["eos", "stop_string"] | None:
    """Tell the end token from a stop string by what llama.cpp lists: it drops the latter's tokens.

    It drops parts of characters too, so a text beyond ASCII with tokens missing says nothing.
    """
    choice = answer.choices[0]
    entries = choice.logprobs.content if choice.logprobs is not None else None
    counted = answer.usage.completion_tokens if answer.usage is not None else None
    if not entries or counted is None:
        return None
    if len(entries) == counted:
        return None if entries[-1].bytes else "eos"
    return "stop_string" if choice.text.isascii() else None


def read_tokens(
    answer: CompletionAnswer,
    stop_reason: StopReason | None,
    definition: LogProbabilityDefinition,
) -> EndpointTokens:
    """Return the tokens of the story, with their values as those of *definition*.

    Values are kept where the server lists as many tokens as it counted, or, since llama.cpp drops
    those of a stop string, where the listed ones spell the text. (Its list joins the tokens of a
    character of several into one, so that this holds for ASCII alone.)

    Raises
    ------
    EndpointError
        A value is no log-probability.
    """
    choice = answer.choices[0]
    counted = answer.usage.completion_tokens if answer.usage is not None else None
    at_limit = counted if stop_reason == "length" else None
    given = None if definition == "none" else _given(choice.logprobs)
    if given is None:
        return EndpointTokens(at_limit, None)
    spelling = given.tokens_spelling(choice.text)
    if stop_reason == "eos" and given.is_last_deferred:
        spelling = None
    if len(given.pieces) == counted:
        return EndpointTokens(
            at_limit if at_limit is not None else spelling, _trace(given, definition)
        )
    if spelling is not None and stop_reason != "length" and choice.text.isascii():
        return EndpointTokens(spelling, _trace(given.first(spelling), definition))
    return EndpointTokens(at_limit, _unknown_trace(counted or len(given.pieces)))


def _given(found: _TokenProbabilities | None) -> _Given | None:
    if found is not None and found.content:
        likeliest = [
            max((top.logprob for top in entry.top_logprobs), default=None)
            for entry in found.content
        ]
        return _Given(
            np.array([entry.id for entry in found.content], np.int32),
            [bytes(entry.bytes) for entry in found.content],
            *_values([entry.logprob for entry in found.content], likeliest),
            is_last_deferred=bool(found.content[-1].bytes),
        )
    if found is None or not found.token_logprobs:
        return None
    size = len(found.token_logprobs)
    tops = [*(found.top_logprobs or []), *[None] * size][:size]
    likeliest = [
        max((value for value in (top or {}).values() if value is not None), default=None)
        for top in tops
    ]
    # Without its text a token spells nothing: the count alone decides.
    pieces = [_piece(token) for token in found.tokens or []] or [b"\xff"] * size
    if len(pieces) != size:
        raise EndpointError(
            f"the endpoint must list a log-probability per token, listed {size} for "
            f"{len(pieces)} tokens; write log_probabilities: none."
        )
    return _Given(np.full(size, -1, np.int32), pieces, *_values(found.token_logprobs, likeliest))


def _piece(token: str) -> bytes:
    """Return the bytes of *token*; a part of a character is written as ``bytes:\\xe2\\x80``."""
    escaped = token.removeprefix("bytes:")
    if escaped == token or not escaped.startswith("\\x"):
        return token.encode()
    try:
        return bytes.fromhex(escaped.replace("\\x", ""))
    except ValueError:
        return token.encode()


def _values(
    came: Sequence[float | None], likeliest: Sequence[float | None]
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return log-probabilities and confidences, NaN for what is not said."""
    chosen = np.array([np.nan if value is None else value for value in came], np.float64)
    top = np.array([np.nan if value is None else value for value in likeliest], np.float64)
    if (found := np.fmax.reduce(np.append(chosen, top))) > LARGEST_ROUNDING_NATS:
        raise EndpointError(
            f"a log-probability of the endpoint must be at most 0, got {found:g}; have the server "
            "send log-probabilities and not logits, or write log_probabilities: none."
        )
    chosen[~(chosen > SMALLEST_NATS)] = np.nan
    top[~(top > SMALLEST_NATS)] = np.nan
    # A list of the likeliest tokens of a server that draws first can lack the one that came.
    confidence = np.exp(np.minimum(np.where(np.isnan(top), top, np.fmax(top, chosen)), 0))
    return np.minimum(chosen, 0).astype(np.float32), confidence.astype(np.float32)


def _trace(given: _Given, definition: LogProbabilityDefinition) -> TokenTrace:
    unknown = _unknown(len(given.pieces))
    values = (given.confidence, given.log_probability_nats)
    both = (
        (*values, unknown, unknown) if definition == "unmodified" else (unknown, unknown, *values)
    )
    return TokenTrace(given.token_ids, *both)


def _unknown_trace(size: int) -> TokenTrace:
    return TokenTrace(np.full(size, -1, np.int32), *[_unknown(size)] * 4)


def _unknown(size: int) -> NDArray[np.float32]:
    return np.full(size, np.nan, np.float32)
