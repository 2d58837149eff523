"""A language model small enough to know everything about it: random weights, words as tokens."""

from __future__ import annotations

import copy
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from flows.language_models.causal_lm import CausalLanguageModel
from flows.language_models.samples import LanguageModelIdentity
from flows.language_models.templates import TemplateChoice, choose_template

WORDS = tuple(f"w{number}" for number in range(60))
BOS, EOS, PAD, UNK = "<s>", "</s>", "<pad>", "<unk>"
VOCABULARY = (UNK, BOS, EOS, PAD, "Prompt", ":", "Story", "user", "assistant", *WORDS)
CHAT_TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}{{ message.role }} {{ message.content }} "
    "{% endfor %}{% if add_generation_prompt %}assistant {% endif %}"
)


def tiny_tokenizer(*, chat_template: str | None = None) -> Any:
    words = {word: index for index, word in enumerate(VOCABULARY)}
    backend = Tokenizer(models.WordLevel(words, unk_token=UNK))
    backend.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=backend, bos_token=BOS, eos_token=EOS, pad_token=PAD, unk_token=UNK
    )
    tokenizer.chat_template = chat_template
    return tokenizer


def tiny_weights(seed: int = 5, *, spread: float = 3.0) -> Any:
    """Return random weights whose forecasts differ much from step to step."""
    torch.manual_seed(seed)
    config = LlamaConfig(
        vocab_size=len(VOCABULARY),
        hidden_size=32,
        intermediate_size=48,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=128,
        bos_token_id=1,
        eos_token_id=2,
        pad_token_id=3,
        tie_word_embeddings=False,
    )
    model = LlamaForCausalLM(config).eval()
    with torch.no_grad():
        model.lm_head.weight.mul_(spread / model.lm_head.weight.std() / 32**0.5)
        model.model.embed_tokens.weight.mul_(20)
    return model


def without_end(weights: Any) -> Any:
    """Return a copy that gives words only: the logit of every special token is minus a million."""
    changed = copy.deepcopy(weights)
    changed.lm_head.bias = torch.nn.Parameter(torch.zeros(len(VOCABULARY)), requires_grad=False)
    changed.lm_head.bias[:4] = -1e6
    return changed


def tiny_language_model(
    weights: Any = None, *, template: TemplateChoice = "plain", batch_size: int = 16
) -> CausalLanguageModel:
    chosen = choose_template(tiny_tokenizer(), template, "the tiny language model")
    identity = LanguageModelIdentity(
        language_model_name="tiny",
        weights_name="tiny",
        language_model_revision="none",
        weights_sha256=None,
        tokenizer_sha256=None,
        quantization="none",
        dtype_name="float32",
        template_name=chosen.template_name,
        template_sha256=chosen.template_sha256,
        template_text=chosen.template_text,
        backend_name="transformers",
        context_tokens=128,
    )
    return CausalLanguageModel(
        identity, tiny_weights() if weights is None else weights, chosen, batch_size
    )


def save_tiny(folder: Path, *, seed: int = 5, chat_template: str | None = None) -> Path:
    tiny_weights(seed).save_pretrained(folder)
    tiny_tokenizer(chat_template=chat_template).save_pretrained(folder)
    return folder
