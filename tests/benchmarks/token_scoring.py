"""Scoring with every column and both sketches beside a bare loop over the same windows.

The bare loop: forward pass, float32 log-softmax, gather. Ratios of one process, taken in turns.
"""

from __future__ import annotations

import json
import sys
import time

import torch

from flows.language_models.causal_lm import resolve_causal_lm
from flows.language_models.ready_made import READY_MADE
from flows.language_models.token_scoring import TokenScorer, WindowSettings
from flows.language_models.token_windows import DocumentText
from flows.language_models.weights import load_weights
from flows.settings import load_settings
from flows.study import SMALL_STUDY

WINDOW_TOKENS = 512
ROUNDS = 3
LEAST_RATIO = 0.75


def bare_seconds(model: object, ids: torch.Tensor) -> float:
    started = time.perf_counter()
    with torch.inference_mode():
        logits = model(input_ids=ids, use_cache=False).logits[0, :-1]  # type: ignore[operator]
        torch.log_softmax(logits.float(), dim=1).gather(1, ids[0, 1:, None])
    return time.perf_counter() - started


def main() -> int:
    settings = load_settings()
    entry = READY_MADE["SmolLM2-135M-Instruct-Q4_1"]
    resolved = resolve_causal_lm(entry, settings.model_cache, "cpu")
    model = load_weights(resolved.located, resolved.dtype, resolved.device, "none")
    tokenizer = resolved.template.tokenizer
    lines = (SMALL_STUDY.parent / "small_study" / "stories.jsonl").read_text().splitlines()
    text = " ".join(json.loads(line)["text"] for line in lines)
    read = tokenizer(text, add_special_tokens=False, split_special_tokens=True)["input_ids"]
    cut = tokenizer.decode(read[: WINDOW_TOKENS - 2])
    scorer = TokenScorer(model, tokenizer, WindowSettings(WINDOW_TOKENS, 64), WINDOW_TOKENS)
    (first,) = scorer.score([DocumentText("warm", cut)])
    ids = torch.tensor([[tokenizer.bos_token_id, *first.document.token_ids.tolist()]])
    bare, ours = [], []
    for _ in range(ROUNDS):
        bare.append(bare_seconds(model, ids))
        started = time.perf_counter()
        scorer.score([DocumentText("text", cut)])
        ours.append(time.perf_counter() - started)
    ratio = min(bare) / min(ours)
    sys.stdout.write(
        f"{ids.shape[1]} tokens: bare {min(bare):.2f} s, scored {min(ours):.2f} s, "
        f"ratio {ratio:.2f} (at least {LEAST_RATIO})\n"
    )
    return 0 if ratio >= LEAST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
