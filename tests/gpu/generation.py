"""On a machine with a GPU: bf16 and nf4 of one language model, tokens per second and peak memory.

Run as ``python -m tests.gpu.generation [WEIGHTS]`` with a hub id, folder or ``packaged:NAME``; the
packaged model is the default, since it needs no network. nf4 needs ``pip install calibrary[gpu]``.
It is no test that runs by itself: its figures are the machine's own.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import torch

from flows.language_models.causal_lm import load_causal_lm, resolve_causal_lm
from flows.language_models.ready_made import LanguageModelEntry, Quantization
from flows.language_models.samples import GenerationLimits, SampleRequest
from flows.language_models.strategies import strategy_named
from flows.settings import load_settings
from udfs.errors import CalibraryError
from udfs.identity import content_id

ROWS = 32
TOKENS = 128
PROMPT = "The last lighthouse keeper finds a letter addressed to nobody."


def measure(weights: str, quantization: Quantization, model_cache: Path) -> str:
    """Return one line of figures, or the sentence that says why there are none."""
    entry = LanguageModelEntry("measured", weights, dtype="bfloat16", quantization=quantization)
    torch.cuda.reset_peak_memory_stats()
    try:
        writer = load_causal_lm(resolve_causal_lm(entry, model_cache, "cuda"), ROWS)
    except CalibraryError as error:
        return f"bfloat16, {quantization}: {error}"
    requests = [SampleRequest(content_id("gpu", row), PROMPT) for row in range(ROWS)]
    strategy = strategy_named("temperature_1.2")
    writer.write(requests[:2], strategy, GenerationLimits(4))  # kernels are chosen at first use
    torch.cuda.synchronize()
    started = time.perf_counter()
    written = writer.write(requests, strategy, GenerationLimits(TOKENS))
    seconds = time.perf_counter() - started
    tokens = sum(sample.story_token_count or 0 for sample in written)
    peak = torch.cuda.max_memory_allocated() / 1e9
    return (
        f"bfloat16, {quantization}: {writer.identity.parameter_count:,} numbers, "
        f"{tokens / seconds:,.0f} tokens/s at {ROWS} rows, peak {peak:.2f} GB"
    )


def main() -> None:
    if not torch.cuda.is_available():
        sys.exit("a GPU must be there to be measured, found none.")
    weights = sys.argv[1] if len(sys.argv) > 1 else "packaged:smollm2-135m-instruct"
    print(torch.cuda.get_device_name(), torch.__version__, weights)
    print(measure(weights, "none", load_settings().model_cache))
    print(measure(weights, "nf4", load_settings().model_cache))


if __name__ == "__main__":
    main()
