"""Claims about GGUF weights in an installed package: dequantised once, kept by their hash."""

from __future__ import annotations

import hashlib
from pathlib import Path

from flows.language_models.causal_lm import load_causal_lm, resolve_causal_lm
from flows.language_models.ready_made import READY_MADE
from flows.language_models.samples import GenerationLimits, SampleRequest
from flows.language_models.strategies import strategy_named
from flows.settings import Settings
from udfs.identity import content_id
from udfs.packaged_models import resolve_model

PACKAGED = "packaged:smollm2-135m-instruct"
PROMPTS = ("A lighthouse keeper finds a letter.", "The map redraws itself every night, again.")


def test_packaged_weights_are_converted_once_and_write_by_key_alone() -> None:
    entry = READY_MADE["SmolLM2-135M-Instruct-Q4_1"]
    resolved = resolve_causal_lm(entry, Settings().model_cache, "cpu")
    sha256 = hashlib.sha256(Path(resolve_model(PACKAGED)).read_bytes()).hexdigest()
    assert resolved.located.folder.name == sha256
    assert resolved.identity.weights_sha256 == sha256
    assert resolved.identity.weights_name == PACKAGED
    assert resolved.identity.template_name == "chat"
    made_at = (resolved.located.folder / "model.safetensors").stat().st_mtime_ns
    again = resolve_causal_lm(entry, Settings().model_cache, "cpu")
    assert again.identity == resolved.identity
    assert (again.located.folder / "model.safetensors").stat().st_mtime_ns == made_at
    # The checkpoint's own card: 135 million parameters, 8,192 tokens of context.
    assert resolved.identity.parameter_count == 134_515_008
    assert resolved.identity.context_tokens == 8192
    requests = [
        SampleRequest(content_id("packaged", prompt, index), prompt)
        for prompt in PROMPTS
        for index in range(2)
    ]
    written = [
        load_causal_lm(resolved, size).write(
            requests, strategy_named("temperature_1.2"), GenerationLimits(8)
        )
        for size in (1, 4)
    ]
    tokens = [
        [sample.trace.token_ids.tolist() for sample in samples if sample.trace is not None]
        for samples in written
    ]
    assert tokens[0] == tokens[1]
    assert all(len(found) == 8 for found in tokens[0])
