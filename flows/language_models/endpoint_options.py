"""How each completions server is told to draw by a strategy, and to do nothing else."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from flows.language_models.errors import EndpointError
from flows.language_models.ready_made import EndpointServer
from flows.language_models.strategies import DecodingStrategy

CAN_DO: Mapping[EndpointServer, frozenset[str]] = {
    "openai": frozenset({"nucleus_mass"}),
    "vllm": frozenset({"nucleus_mass", "top_k"}),
    "llama.cpp": frozenset({"nucleus_mass", "top_k", "typical_mass"}),
    "transformers": frozenset({"nucleus_mass", "top_k", "typical_mass"}),
}
"""Parts of a strategy that a server has a word for; every one knows the temperature."""


def server_options(server: EndpointServer, strategy: DecodingStrategy) -> dict[str, Any]:
    """Return the request's options that make *server* draw by *strategy*, everything else off.

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
    if server == "openai":
        return {**options, "logprobs": 1}
    if server == "vllm":
        off = {"top_k": strategy.top_k or -1, "min_p": 0.0, "repetition_penalty": 1.0}
        return {**options, **off, "logprobs": 1}
    if server == "llama.cpp":
        off = {"top_k": strategy.top_k or 0, "min_p": 0.0, "repeat_penalty": 1.0}
        return {**options, **off, **typical, "logprobs": 1}
    configuration = {
        **({} if strategy.is_greedy else {**options, **typical, "top_k": strategy.top_k or 0}),
        "do_sample": not strategy.is_greedy,
        "repetition_penalty": 1.0,
    }
    return {"generation_config": json.dumps(configuration)}
