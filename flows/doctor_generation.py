"""What generating needs on this machine, and, of a study given, what each language model needs.

Nothing is loaded, converted or downloaded: a check tells what would be.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

import httpx

from flows.language_models.endpoint_options import log_probability_definition, server_options
from flows.language_models.errors import LanguageModelError
from flows.language_models.ready_made import LanguageModelEntry
from flows.settings import Settings
from flows.study import Study
from flows.study_generation import LanguageModelChoice
from udfs.packaged_models import ModelNotFoundError, resolve_model

OFFLINE_WRITER = "packaged:smollm2-135m-instruct"

REACH_SECONDS = 5.0
"""Enough for a server to list its language models, which it does without computing."""

Check = Callable[[Settings], str]


def packaged_writer(settings: Settings) -> str:
    """Say whether stories can be written offline."""
    try:
        resolve_model(OFFLINE_WRITER)
    except ModelNotFoundError as error:
        return f"the small study leaves its language model out: {error}"
    return f"{OFFLINE_WRITER} found in an installed package"


def quantization(settings: Settings) -> str:
    """Say whether weights can be loaded in 8 or 4 bits."""
    if importlib.util.find_spec("bitsandbytes") is None:
        return (
            "none: bitsandbytes is not installed; int8 and nf4 are refused, and on a GPU so is "
            "quantization: auto above 3 billion parameters; `pip install calibrary[gpu]` brings it"
        )
    return f"int8 and nf4, bitsandbytes {metadata.version('bitsandbytes')}"


def language_model_checks(study: Study) -> tuple[tuple[str, Check], ...]:
    """Return one check per language model of *study*, whether it writes, is scored, or both."""
    writers = {choice.name for choice in study.language_models}
    chosen = {
        choice.name: choice for choice in (*study.scored_language_models, *study.language_models)
    }
    return tuple(
        (f"language model {name}", _check_of(study, choice, writes=name in writers))
        for name, choice in chosen.items()
    )


def _check_of(study: Study, choice: LanguageModelChoice, *, writes: bool) -> Check:
    def check(settings: Settings) -> str:
        entry = choice.entry()
        if entry.endpoint is not None:
            return _endpoint(study, entry, writes=writes)
        try:
            place = resolve_model(study.resolve_weights(entry.weights))
        except ModelNotFoundError as error:
            if choice.is_optional:
                return f"left out: {error}"
            raise
        if entry.quantization in {"int8", "nf4"} and not importlib.util.find_spec("bitsandbytes"):
            raise LanguageModelError(
                f"quantization {entry.quantization} must have bitsandbytes installed, found none; "
                "run `pip install calibrary[gpu]`, or write quantization: none."
            )
        return place if Path(place).exists() else _on_the_hub(entry)

    return check


def _on_the_hub(entry: LanguageModelEntry) -> str:
    from huggingface_hub import try_to_load_from_cache

    found = try_to_load_from_cache(entry.weights, "config.json", revision=entry.revision)
    if isinstance(found, str):
        return f"{entry.weights} lies in the hub's cache"
    return f"{entry.weights} is not here: `calibrary generate` downloads it from the hub"


def _endpoint(study: Study, entry: LanguageModelEntry, *, writes: bool) -> str:
    """Ask the server what it serves, and whether it can be held to the study's strategies."""
    for choice in study.decoding_strategies if writes else ():
        server_options(entry.endpoint_server, choice.strategy())
    try:
        answer = httpx.get(f"{(entry.endpoint or '').rstrip('/')}/models", timeout=REACH_SECONDS)
    except httpx.HTTPError as error:
        raise LanguageModelError(
            f"the endpoint {entry.endpoint} must answer, got {type(error).__name__}; start the "
            "server, or correct its address."
        ) from None
    if answer.status_code != httpx.codes.OK:
        raise LanguageModelError(
            f"the endpoint {entry.endpoint} must list its models, answered {answer.status_code}; "
            "check its address, up to and with /v1."
        )
    values = {
        "unmodified": "log-probabilities kept as those of the unmodified language model",
        "sampling": "log-probabilities kept as those of the distribution drawn from",
        "none": "no log-probabilities kept",
    }[log_probability_definition(entry)]
    return f"{entry.endpoint} answers; {values}"
