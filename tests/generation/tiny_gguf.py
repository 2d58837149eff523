"""A GGUF file small enough for a second: random float32 weights behind a real tokenizer."""

from __future__ import annotations

from pathlib import Path

import gguf
import numpy as np

from udfs.packaged_models import resolve_model

WIDTH, INNER, HEADS, KEY_HEADS, LAYERS = 32, 48, 4, 2, 2
SPREAD = 0.9
"""Standard deviation of a logit over sqrt(WIDTH): forecasts neither flat nor certain."""

END_WEIGHT = 9.0
"""The end token's logit is this times one normal number: it ends a story after a dozen tokens."""


def write_tiny_gguf(path: Path, seed: int = 5) -> Path:
    """Write a llama of WIDTH with the tokenizer of the packaged SmolLM2."""
    known = gguf.GGUFReader(resolve_model("packaged:smollm2-135m-instruct"))
    writer = gguf.GGUFWriter(path, "llama")
    for name, field in known.fields.items():
        if name.startswith("tokenizer."):
            kind = field.types[0]
            nested = field.types[-1] if kind == gguf.GGUFValueType.ARRAY else None
            writer.add_key_value(name, field.contents(), kind, sub_type=nested)
    vocabulary = len(known.fields["tokenizer.ggml.tokens"].data)
    writer.add_block_count(LAYERS)
    writer.add_context_length(256)
    writer.add_embedding_length(WIDTH)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(KEY_HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_rope_freq_base(10_000.0)
    writer.add_vocab_size(vocabulary)
    rng = np.random.default_rng(seed)

    def add(name: str, *shape: int, spread: float = WIDTH**-0.5) -> None:
        writer.add_tensor(name, rng.normal(0, spread, shape).astype(np.float32))

    keys = WIDTH // HEADS * KEY_HEADS
    add("token_embd.weight", vocabulary, WIDTH, spread=1.0)
    for layer in range(LAYERS):
        for name, rows, columns in (
            ("attn_q", WIDTH, WIDTH),
            ("attn_k", keys, WIDTH),
            ("attn_v", keys, WIDTH),
            ("attn_output", WIDTH, WIDTH),
            ("ffn_gate", INNER, WIDTH),
            ("ffn_up", INNER, WIDTH),
            ("ffn_down", WIDTH, INNER),
        ):
            add(f"blk.{layer}.{name}.weight", rows, columns)
        for name in ("attn_norm", "ffn_norm"):
            writer.add_tensor(f"blk.{layer}.{name}.weight", np.ones(WIDTH, np.float32))
    writer.add_tensor("output_norm.weight", np.ones(WIDTH, np.float32))
    output = rng.normal(0, SPREAD, (vocabulary, WIDTH)).astype(np.float32)
    end = int(known.fields["tokenizer.ggml.eos_token_id"].contents())
    output[end] = 0
    output[end, 0] = END_WEIGHT
    writer.add_tensor("output.weight", output)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path
