"""How each completions server is told to draw by a strategy, and to do nothing else.

And whose log-probabilities it sends back, as far as that is known:

llama.cpp
    The language model's own, at temperature 1 over the whole vocabulary, unless it is asked for
    ``post_sampling_probs``, which is not done here. (Held against a forward pass by the tests.)
vLLM
    By ``--logprobs-mode``: ``raw_logprobs``, its default since version 0.10, are the language
    model's own; ``processed_logprobs`` are those drawn from (``log_probabilities: sampling``).
transformers
    None.
any other
    Not known, so none are kept unless the study says which they are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flows.language_models.errors import EndpointError
from flows.language_models.ready_made import (
    EndpointServer,
    LanguageModelEntry,
    LogProbabilityDefinition,
)
from flows.language_models.strategies import DecodingStrategy

CAN_DO: Mapping[EndpointServer, frozenset[str]] = {
    "openai": frozenset({"nucleus_mass"}),
    "vllm": frozenset({"nucleus_mass", "top_k"}),
    "llama.cpp": frozenset({"nucleus_mass", "top_k", "typical_mass"}),
    "transformers": frozenset({"nucleus_mass", "top_k", "typical_mass"}),
}
"""Parts of a strategy that a server has a word for; every one knows the temperature."""

LLAMA_CPP_SAMPLERS = ["temperature", "top_k", "top_p", "typ_p"]
"""Ours, in our order: its own has more of them, and the temperature last."""

DEFINITIONS: Mapping[EndpointServer, LogProbabilityDefinition] = {
    "openai": "none",
    "vllm": "unmodified",
    "llama.cpp": "unmodified",
    "transformers": "none",
}


def log_probability_definition(entry: LanguageModelEntry) -> LogProbabilityDefinition:
    """Return whose log-probabilities *entry* has its endpoint send, ``none`` if none are kept."""
    return entry.log_probabilities or DEFINITIONS[entry.endpoint_server]


def server_options(
    server: EndpointServer,
    strategy: DecodingStrategy,
    definition: LogProbabilityDefinition = "none",
) -> dict[str, Any]:
    """Return the request's options that make *server* draw by *strategy*, everything else off.

    Unless *definition* is ``none`` it is asked for its log-probabilities too.

    Raises
    ------
    EndpointError
        The server has no word for a part of the strategy.
    """
    for name in ("top_k", "nucleus_mass", "typical_mass"):
        if getattr(strategy, name) is not None and name not in CAN_DO[server]:
            raise EndpointError(
                f"an endpoint of {server} must be able to do {name}, and is not; leave "
                f"{strategy.decoding_strategy_name} out, or load the model here."
            )
    options: dict[str, Any] = {
        "temperature": strategy.sampling_temperature,
        "top_p": 1.0 if strategy.nucleus_mass is None else strategy.nucleus_mass,
    }
    typical = {"typical_p": 1.0 if strategy.typical_mass is None else strategy.typical_mass}
    values: dict[str, Any] = {} if definition == "none" else {"logprobs": 1}
    if server == "openai":
        return {**options, **values}
    if server == "vllm":
        off = {"top_k": strategy.top_k or -1, "min_p": 0.0, "repetition_penalty": 1.0}
        return {**options, **off, **values}
    if server == "llama.cpp":
        off = {"top_k": strategy.top_k or 0, "min_p": 0.0, "repeat_penalty": 1.0}
        return {**options, **off, **typical, **values, "samplers": LLAMA_CPP_SAMPLERS}
    configuration = {
        **({} if strategy.is_greedy else {**options, **typical, "top_k": strategy.top_k or 0}),
        "do_sample": not strategy.is_greedy,
        "repetition_penalty": 1.0,
    }
    return {"generation_config": json.dumps(configuration)}
