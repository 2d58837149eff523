"""One batch of stories, token by token, with no score tensor kept beyond its step."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from flows.language_models.decoding import sampling_log_probabilities
from flows.language_models.samples import TokenTrace
from flows.language_models.sampling_noise import SamplingNoise, draw_tokens
from flows.language_models.strategies import DecodingStrategy

StopAfter = Callable[[list[int]], bool]
"""Whether a row's tokens so far end its story, beside an end token."""


@dataclass(frozen=True)
class PaddedPrompts:
    """Distinct framed prompts, padded on the left to one width, and which of them each row has."""

    token_ids: torch.Tensor
    """Integers, shape (prompts, width)."""
    attention_mask: torch.Tensor
    """1 for a token, 0 for padding, same shape."""
    prompt_of_row: torch.Tensor
    """Integers, shape (rows,)."""


def pad_prompts(rows: Sequence[Sequence[int]], pad_id: int, device: torch.device) -> PaddedPrompts:
    """Return the framed prompts of *rows* padded on the left; equal ones are read once."""
    distinct = {tuple(row): None for row in rows}
    place = {prompt: index for index, prompt in enumerate(distinct)}
    width = max(map(len, distinct))
    ids = [[pad_id] * (width - len(prompt)) + list(prompt) for prompt in distinct]
    mask = [[0] * (width - len(prompt)) + [1] * len(prompt) for prompt in distinct]
    return PaddedPrompts(
        torch.tensor(ids, device=device),
        torch.tensor(mask, device=device),
        torch.tensor([place[tuple(row)] for row in rows], device=device),
    )


class NextTokenForecasts:
    """A causal language model read forwards: logits for the next token of every row."""

    def __init__(self, model: Any, prompts: PaddedPrompts) -> None:
        self._model = model
        self._accepts = inspect.signature(model.forward).parameters
        self._mask = prompts.attention_mask
        self._cache: Any = None
        logits = self._forward(prompts.token_ids, prompts.attention_mask.cumsum(1) - 1)
        read: Any = self._cache
        read.batch_select_indices(prompts.prompt_of_row)
        self._mask = self._mask[prompts.prompt_of_row]
        self.logits = logits[prompts.prompt_of_row]
        """Of the library's precision, shape (rows, vocabulary)."""

    def advance(self, token_ids: torch.Tensor) -> None:
        """Append one token to every row, shape (rows,)."""
        self._mask = torch.cat([self._mask, torch.ones_like(self._mask[:, :1])], dim=1)
        position = self._mask.sum(1, keepdim=True) - 1
        self.logits = self._forward(token_ids[:, None], position)

    def _forward(self, token_ids: torch.Tensor, positions: torch.Tensor) -> torch.Tensor:
        options: dict[str, Any] = {}
        if "logits_to_keep" in self._accepts:
            options["logits_to_keep"] = 1
        if "position_ids" in self._accepts:
            options["position_ids"] = positions.clamp(min=0)
        output = self._model(
            input_ids=token_ids,
            attention_mask=self._mask,
            cache=self._cache,
            use_cache=True,
            **options,
        )
        self._cache = output.cache
        logits: torch.Tensor = output.logits[:, -1]
        return logits


class TraceRecorder:
    """Collects what is kept of every step: five numbers a row."""

    def __init__(self) -> None:
        self._steps: list[torch.Tensor] = []
        self._token_ids: list[torch.Tensor] = []

    def add(
        self, token_ids: torch.Tensor, log_probabilities: torch.Tensor, sampling: torch.Tensor
    ) -> None:
        """Record the step in which *token_ids* came, each distribution of shape (rows, V)."""
        chosen = token_ids[:, None]
        self._token_ids.append(token_ids.cpu())
        self._steps.append(
            torch.stack(
                [
                    log_probabilities.amax(1).exp(),
                    log_probabilities.gather(1, chosen)[:, 0],
                    sampling.amax(1).exp(),
                    sampling.gather(1, chosen)[:, 0],
                ],
                dim=1,
            ).cpu()
        )

    def traces(self, lengths: Iterable[int]) -> list[TokenTrace]:
        """Return each row's first tokens, as many as *lengths* says."""
        ids = torch.stack(self._token_ids, dim=1).numpy().astype(np.int32)
        values: NDArray[np.float32] = torch.stack(self._steps, dim=1).numpy()
        return [
            TokenTrace(ids[row, :length], *(values[row, :length, column] for column in range(4)))
            for row, length in enumerate(lengths)
        ]


@torch.inference_mode()
def write_tokens(
    model: Any,
    prompts: PaddedPrompts,
    strategy: DecodingStrategy,
    noise: SamplingNoise,
    *,
    end_ids: Collection[int],
    maximum_tokens: int,
    stop_after: StopAfter | None = None,
) -> list[TokenTrace]:
    """Write one story per row: until an end token, *stop_after*, or *maximum_tokens*.

    Returns
    -------
    list of TokenTrace
        One per row, with the end token where one came. A row that has ended keeps its place in the
        batch, so that the shapes, and with them the last bits, do not depend on who ends when.
    """
    forecasts = NextTokenForecasts(model, prompts)
    lengths = [maximum_tokens] * len(prompts.prompt_of_row)
    writing = set(range(len(lengths)))
    tokens: list[list[int]] = [[] for _ in lengths]
    recorder = TraceRecorder()
    for step in range(1, maximum_tokens + 1):
        logits = forecasts.logits
        # On a GPU the forward pass is still running while the noise is drawn here.
        choose = (
            partial(torch.argmax, dim=1)
            if strategy.is_greedy
            else partial(
                draw_tokens, exponentials=noise.draw(logits.shape[1], writing).to(logits.device)
            )
        )
        sampling = sampling_log_probabilities(logits, strategy)
        chosen = choose(sampling)
        recorder.add(chosen, torch.log_softmax(logits.float(), dim=1), sampling)
        for row, token_id in enumerate(chosen.tolist()):
            tokens[row].append(token_id)
        ended = {
            row
            for row in writing
            if tokens[row][-1] in end_ids or (stop_after is not None and stop_after(tokens[row]))
        }
        for row in ended:
            lengths[row] = step
        writing -= ended
        if not writing or step == maximum_tokens:
            break
        forecasts.advance(chosen)
    return recorder.traces(lengths)
