"""Bounds of the temperature sketch on what it is for: SmolLM2 over human stories."""

from __future__ import annotations

import gzip
import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
import torch
from gguf import GGUFReader
from gguf.quants import dequantize
from tokenizers import Tokenizer, decoders, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM

from udfs.loss_curves import ExactRows, FitStatus, SketchedRows
from udfs.packaged_models import resolve_model
from udfs.stored_sketches import AHEAD_SKETCH_BITS, SKETCH_BITS, sketch_of_stored, stored_sketch
from udfs.temperature import fit_temperature, tempered
from udfs.temperature_sketch import (
    confidence_at,
    entropy_at,
    log_loss_at,
    log_partition,
    log_partition_at,
    mass_ahead_at,
    mass_ahead_sketch,
    sum_of_squares_at,
    temperature_sketch,
)

pytestmark = pytest.mark.shared_data

TEMPERATURES = (0.5, 0.6, 0.8, 1.0, 1.25, 1.6, 2.0)
STORY_COUNT, STORY_TOKENS = 2, 200

LLAMA_NAMES = {
    "attn_q": "self_attn.q_proj",
    "attn_k": "self_attn.k_proj",
    "attn_v": "self_attn.v_proj",
    "attn_output": "self_attn.o_proj",
    "attn_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
    "ffn_gate": "mlp.gate_proj",
    "ffn_up": "mlp.up_proj",
    "ffn_down": "mlp.down_proj",
    "token_embd.weight": "model.embed_tokens.weight",
    "output_norm.weight": "model.norm.weight",
}


@dataclass(frozen=True)
class ScoredRows:
    """Log-probability rows of SmolLM2, the tokens that came, and both sketches as stored."""

    logs: np.ndarray
    outcome: np.ndarray
    sketch: np.ndarray
    ahead_sketch: np.ndarray

    @property
    def own(self) -> np.ndarray:
        return self.logs[np.arange(len(self.outcome)), self.outcome]

    @property
    def is_ahead(self) -> np.ndarray:
        """Which tokens are likelier than the one that came; equals in the order of their ids."""
        own, places = self.own[:, None], np.arange(self.logs.shape[1])
        is_earlier = places < self.outcome[:, None]
        return (self.logs > own) | ((self.logs == own) & is_earlier)


def llama_of_gguf(reader: GGUFReader) -> LlamaForCausalLM:
    """The dequantised weights, without the detour over `accelerate`."""

    def value(name: str) -> int:
        return reader.fields[f"llama.{name}"].contents()

    config = LlamaConfig(
        vocab_size=value("vocab_size"),
        hidden_size=value("embedding_length"),
        intermediate_size=value("feed_forward_length"),
        num_hidden_layers=value("block_count"),
        num_attention_heads=value("attention.head_count"),
        num_key_value_heads=value("attention.head_count_kv"),
        max_position_embeddings=value("context_length"),
        rms_norm_eps=value("attention.layer_norm_rms_epsilon"),
        rope_theta=value("rope.freq_base"),
        tie_word_embeddings=True,
    )
    heads = {"attn_q": config.num_attention_heads, "attn_k": config.num_key_value_heads}
    state = {}
    for tensor in reader.tensors:
        weights = dequantize(tensor.data, tensor.tensor_type).astype(np.float32)
        if tensor.name in LLAMA_NAMES:
            state[LLAMA_NAMES[tensor.name]] = torch.from_numpy(weights)
            continue
        _, block, part, _ = tensor.name.split(".")
        if part in heads:  # GGUF interleaves the two halves that rotary embeddings pair
            paired = weights.reshape(heads[part], -1, 2, weights.shape[1])
            weights = np.ascontiguousarray(paired.swapaxes(1, 2)).reshape(weights.shape)
        name = f"model.layers.{block}.{LLAMA_NAMES[part]}.weight"
        state[name] = torch.from_numpy(weights)
    model = LlamaForCausalLM(config)
    missing = model.load_state_dict(state, strict=False)
    assert missing.unexpected_keys == []
    assert missing.missing_keys in ([], ["lm_head.weight"])
    model.tie_weights()
    return model.eval()


def tokenizer_of_gguf(reader: GGUFReader) -> Tokenizer:
    tokens = reader.fields["tokenizer.ggml.tokens"].contents()
    merges = reader.fields["tokenizer.ggml.merges"].contents()
    vocabulary = {token: place for place, token in enumerate(tokens)}
    tokenizer = Tokenizer(models.BPE(vocabulary, [tuple(pair.split(" ")) for pair in merges]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    return tokenizer


def through_storage(sketch: np.ndarray, bits: np.ndarray) -> np.ndarray:
    """What comes back of a sketch that was stored; bounds are of that one."""
    found = sketch.astype(np.float64)
    some = ~np.isnan(sketch).any(axis=1)
    found[some] = sketch_of_stored(stored_sketch(sketch[some], bits), bits)
    return found


@pytest.fixture(scope="module")
def scored(shared_data: Path) -> ScoredRows:
    reader = GGUFReader(resolve_model("packaged:smollm2-135m-instruct"))
    model, tokenizer = llama_of_gguf(reader), tokenizer_of_gguf(reader)
    with gzip.open(shared_data / "writing_prompts" / "responses.jsonl.gz", "rt") as file:
        stories = [json.loads(next(file))["text"] for _ in range(STORY_COUNT)]
    logs, outcome = [], []
    for story in stories:
        ids = torch.tensor([tokenizer.encode(story).ids[: STORY_TOKENS + 1]])
        with torch.inference_mode():
            rows = torch.log_softmax(model(ids).logits[0, :-1].float(), dim=-1)
        logs.append(rows.numpy())
        outcome.append(ids[0, 1:].numpy())
    rows, came = np.concatenate(logs), np.concatenate(outcome)
    # SmolLM2 reads stories at a perplexity of 19 to 30: anything else would be misread weights.
    assert 2.5 < -rows[np.arange(len(came)), came].mean() < 4.0
    return ScoredRows(
        rows,
        came,
        through_storage(temperature_sketch(rows), SKETCH_BITS),
        through_storage(mass_ahead_sketch(rows, came), AHEAD_SKETCH_BITS),
    )


@pytest.mark.parametrize("temperature", TEMPERATURES)
def test_the_sketch_keeps_its_bounds_on_a_language_model(
    scored: ScoredRows, temperature: float
) -> None:
    exact = log_partition(scored.logs, 1.0 / temperature)
    found = log_partition_at(temperature, scored.sketch)
    assert np.abs(found - exact).max() <= 1e-4
    loss = exact - scored.own / temperature
    mean_loss = log_loss_at(temperature, scored.sketch, scored.own).mean()
    assert abs(mean_loss - loss.mean()) <= 1e-6
    top = scored.logs.max(axis=1).astype(np.float64)
    confidence = np.exp(top / temperature - exact)
    stored = np.exp(top).astype(np.float32)
    assert np.abs(confidence_at(temperature, scored.sketch, stored) - confidence).max() <= 1e-4


@pytest.mark.parametrize("temperature", [0.5, 0.6, 1.25, 1.8, 2.0])
def test_entropy_squares_and_mass_ahead_follow_from_the_sketches(
    scored: ScoredRows, temperature: float
) -> None:
    logs = tempered(scored.logs, temperature)
    forecast = np.exp(logs)
    sketch = scored.sketch
    missed = entropy_at(temperature, sketch) + (forecast * logs).sum(axis=1)
    assert abs(missed).max() <= (2e-3 if 0.6 <= temperature <= 1.8 else 3e-2)
    assert abs(missed.mean()) <= 5e-4
    ahead = mass_ahead_at(temperature, sketch, scored.ahead_sketch)
    assert abs(ahead - (forecast * scored.is_ahead).sum(axis=1)).max() <= 1e-4
    if temperature >= 1.0:
        squares = (forecast**2).sum(axis=1)
        assert abs(sum_of_squares_at(temperature, sketch) - squares).max() <= 2e-4


def test_the_fitted_temperature_of_the_sketch_is_that_of_the_rows(scored: ScoredRows) -> None:
    exact = fit_temperature(ExactRows(scored.logs, scored.outcome))
    sketched = fit_temperature(SketchedRows(scored.sketch, scored.own))
    assert exact.status is sketched.status is FitStatus.CONVERGED
    assert max(abs(exact.gradient), abs(sketched.gradient)) < 1e-10
    assert sketched.fitted_temperature == pytest.approx(exact.fitted_temperature, abs=1e-4)
