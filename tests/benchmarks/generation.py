"""Writing stories: this project's loop beside the library's ``generate``, batch and length alike.

Run as ``python -m tests.benchmarks.generation``. Both write the same number of tokens from the same
framed prompts, alternating, and the median of the paired ratios is printed: on a shared machine
only those mean anything. The last lines show that memory does not grow with what is written.
"""

from __future__ import annotations

import statistics
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import torch

from flows.language_models.causal_lm import load_causal_lm, resolve_causal_lm
from flows.language_models.ready_made import READY_MADE
from flows.language_models.sampling_noise import SamplingNoise
from flows.language_models.strategies import strategy_named
from flows.language_models.token_steps import pad_prompts, write_tokens
from flows.settings import load_settings
from udfs.identity import content_id

ROWS = 8
TOKENS = 24
ROUNDS = 3
PROMPTS = (
    "The last lighthouse keeper finds a letter addressed to nobody.",
    "A map that redraws itself every night is sold at a market, and its new owner cannot sleep.",
)
THEIRS: dict[str, dict[str, Any]] = {
    "temperature_1.2": {"temperature": 1.2, "top_k": 0, "top_p": 1.0},
    "top_k_40": {"top_k": 40, "top_p": 1.0},
    "top_p_0.9": {"top_k": 0, "top_p": 0.9},
    "typical_0.95": {"top_k": 0, "top_p": 1.0, "typical_p": 0.95},
}


def seconds(call: Callable[[], object]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def main() -> None:
    resolved = resolve_causal_lm(
        READY_MADE["SmolLM2-135M-Instruct-Q4_1"], load_settings().model_cache, "cpu"
    )
    model = load_causal_lm(resolved, ROWS)._model
    rows = [resolved.template.framed(PROMPTS[row % len(PROMPTS)]) for row in range(ROWS)]
    width = max(map(len, rows))
    ids = torch.tensor([[0] * (width - len(row)) + row for row in rows])
    mask = torch.tensor([[0] * (width - len(row)) + [1] * len(row) for row in rows])
    keys = [content_id("benchmark", row) for row in range(ROWS)]

    def ours(name: str, tokens: int = TOKENS) -> None:
        write_tokens(
            model,
            pad_prompts(rows, 0, torch.device("cpu")),
            strategy_named(name),
            SamplingNoise(keys),
            end_ids=(),
            maximum_tokens=tokens,
        )

    def theirs(name: str) -> None:
        model.generate(
            ids,
            attention_mask=mask,
            do_sample=True,
            min_new_tokens=TOKENS,
            max_new_tokens=TOKENS,
            **THEIRS[name],
        )

    print(f"{ROWS} rows, {TOKENS} tokens, prompts of {width} tokens")
    for name in THEIRS:
        ratios, speeds = [], []
        for _ in range(ROUNDS):
            library, here = seconds(lambda: theirs(name)), seconds(lambda: ours(name))  # noqa: B023
            ratios.append(library / here)
            speeds.append(ROWS * TOKENS / here)
        print(
            f"{name}: {statistics.median(ratios):.2f} times the library's speed, "
            f"{statistics.median(speeds):.0f} tokens/s"
        )
    for tokens in (8, 32):
        tracemalloc.start()
        ours("temperature_1.2", tokens)
        print(
            f"{tokens} tokens: peak of Python's own memory {tracemalloc.get_traced_memory()[1]:,}"
        )
        tracemalloc.stop()


if __name__ == "__main__":
    main()
