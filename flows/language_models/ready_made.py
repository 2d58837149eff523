"""Entries of a study file that need a name only, and what any entry may say."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

TemplateChoice = Literal["auto", "chat", "plain"]
Quantization = Literal["auto", "none", "int8", "nf4"]
DtypeChoice = Literal["auto", "float32", "bfloat16", "float16"]
EndpointServer = Literal["openai", "vllm", "llama.cpp", "transformers"]
LogProbabilityDefinition = Literal["unmodified", "sampling", "none"]
"""Whose log-probabilities a server sends: the language model's own (temperature 1, nothing cut
off), those of the distribution drawn from, or none that are to be kept."""


@dataclass(frozen=True)
class LanguageModelEntry:
    """A language model as a study names it."""

    language_model_name: str
    weights: str
    """Hub id, folder, GGUF file, ``packaged:NAME``; at an endpoint, what the server calls it."""
    revision: str | None = None
    """Branch, tag or commit on the hub. None: its main branch."""
    dtype: DtypeChoice = "auto"
    """``auto``: float32 on a CPU, bfloat16 on a GPU that has it, else float16."""
    quantization: Quantization = "auto"
    """``auto``: nf4 on a GPU for more than 3 billion parameters, else none."""
    template: TemplateChoice = "auto"
    endpoint: str | None = None
    """Base URL of an OpenAI-compatible server, up to and with ``/v1``. None: loaded here."""
    endpoint_server: EndpointServer = "openai"
    """Which server it is: they differ in what else can be switched off."""
    log_probabilities: LogProbabilityDefinition | None = None
    """At an endpoint, whose they are. None: as its server is known to do by default."""
    tokenizer: str | None = None
    """At an endpoint, the tokenizer whose chat template frames the prompt. None: plain frame."""


_ENTRIES = (
    LanguageModelEntry("GPT2-XL", "openai-community/gpt2-xl", template="plain"),
    LanguageModelEntry("Gemma-2B", "google/gemma-2b", template="plain"),
    LanguageModelEntry(
        "Mistral-7B-Instruct", "mistralai/Mistral-7B-Instruct-v0.2", template="chat"
    ),
    LanguageModelEntry(
        "Llama-3.1-8B-Instruct", "meta-llama/Llama-3.1-8B-Instruct", template="chat"
    ),
    LanguageModelEntry(
        "SmolLM2-135M-Instruct-Q4_1", "packaged:smollm2-135m-instruct", template="chat"
    ),
)

READY_MADE: Mapping[str, LanguageModelEntry] = {
    entry.language_model_name: entry for entry in _ENTRIES
}
"""The four language models of *The Geometry of Creative Variability*, named as its tables name
them, and one that is installed as a Python package."""
