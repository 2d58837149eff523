"""Scoring with every column and both sketches beside a bare loop over the same windows.

The bare loop: forward pass, float32 log-softmax, gather. Ratios of one process, taken in turns.
"""

from __future__ import annotations

import json
import sys
import time
from dataclasses import dataclass
from typing import Any

import torch

from flows.language_models.causal_lm import ResolvedLanguageModel, resolve_causal_lm
from flows.language_models.ready_made import READY_MADE
from flows.language_models.token_scoring import TokenScorer, WindowSettings
from flows.language_models.token_windows import DocumentText
from flows.language_models.weights import load_weights
from flows.settings import load_settings
from flows.study import SMALL_STUDY

LANGUAGE_MODEL = READY_MADE["SmolLM2-135M-Instruct-Q4_1"]
WINDOW_TOKENS = 512
WINDOWS = WindowSettings(WINDOW_TOKENS, 64)
ROUNDS = 3
LEAST_RATIO = 0.75


@dataclass(frozen=True)
class Loaded:
    """The language model as it was found, its weights, and the scorer that reads with it."""

    resolved: ResolvedLanguageModel
    model: Any
    scorer: TokenScorer

    @property
    def tokenizer(self) -> Any:
        return self.resolved.template.tokenizer

    def texts(self, count: int, windows: int = 1) -> list[DocumentText]:
        """Return *count* texts in a row from the sample stories, each about *windows* long."""
        lines = (SMALL_STUDY.parent / "small_study" / "stories.jsonl").read_text().splitlines()
        text = " ".join(json.loads(line)["text"] for line in lines)
        read = self.tokenizer(text, add_special_tokens=False, split_special_tokens=True)
        width = (WINDOW_TOKENS - 2) * windows
        return [
            DocumentText(
                f"text {place}",
                self.tokenizer.decode(read["input_ids"][place * width : (place + 1) * width]),
            )
            for place in range(count)
        ]

    def window_ids(self, text: DocumentText) -> torch.Tensor:
        """Return what the language model reads of a text of one window, shape (1, tokens)."""
        read = self.tokenizer(text.text, add_special_tokens=False, split_special_tokens=True)
        return torch.tensor([[self.tokenizer.bos_token_id, *read["input_ids"]]])


def loaded() -> Loaded:
    resolved = resolve_causal_lm(LANGUAGE_MODEL, load_settings().model_cache, "cpu")
    model = load_weights(resolved.located, resolved.dtype, resolved.device, "none")
    scorer = TokenScorer(model, resolved.template.tokenizer, WINDOWS, WINDOW_TOKENS)
    return Loaded(resolved, model, scorer)


def score_barely(model: Any, ids: torch.Tensor) -> None:
    with torch.inference_mode():
        logits = model(input_ids=ids, use_cache=False).logits[0, :-1]
        torch.log_softmax(logits.float(), dim=1).gather(1, ids[0, 1:, None])


def main() -> int:
    found = loaded()
    (text,) = found.texts(1)
    ids = found.window_ids(text)
    found.scorer.score([text])  # the first call warms up
    bare, ours = [], []
    for _ in range(ROUNDS):
        started = time.perf_counter()
        score_barely(found.model, ids)
        bare.append(time.perf_counter() - started)
        started = time.perf_counter()
        found.scorer.score([text])
        ours.append(time.perf_counter() - started)
    ratio = min(bare) / min(ours)
    sys.stdout.write(
        f"{ids.shape[1]} tokens: bare {min(bare):.2f} s, scored {min(ours):.2f} s, "
        f"ratio {ratio:.2f} (at least {LEAST_RATIO})\n"
    )
    return 0 if ratio >= LEAST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
