"""The engine behind an entry, whichever backend it is: loaded once per process."""

from __future__ import annotations

import threading
from functools import lru_cache
from pathlib import Path

from flows.language_models.causal_lm import load_causal_lm, resolve_causal_lm
from flows.language_models.completions_endpoint import CompletionsEndpoint, identify_endpoint
from flows.language_models.ready_made import LanguageModelEntry
from flows.language_models.samples import LanguageModelIdentity, StoryWriter
from flows.language_models.templates import Template, choose_template
from flows.language_models.weights import load_tokenizer
from flows.settings import Settings
from udfs.packaged_models import resolve_model

_LOADING = threading.Lock()
"""Two batches of the thread pool must not load the same weights at once."""


def identify(entry: LanguageModelEntry, settings: Settings) -> LanguageModelIdentity:
    """Return what the stories of *entry* depend on, without loading its weights."""
    if entry.endpoint is not None:
        return identify_endpoint(entry, _endpoint_template(entry))
    return resolve_causal_lm(entry, settings.model_cache, settings.device).identity


def story_writer(
    entry: LanguageModelEntry, model_cache: Path, device: str | None, batch_size: int
) -> StoryWriter:
    """Return the engine of *entry*, kept until another one is asked for."""
    with _LOADING:
        return _loaded(entry, model_cache, device, batch_size)


@lru_cache(maxsize=1)
def _loaded(
    entry: LanguageModelEntry, model_cache: Path, device: str | None, batch_size: int
) -> StoryWriter:
    if entry.endpoint is not None:
        return CompletionsEndpoint(entry, _endpoint_template(entry), batch_size)
    return load_causal_lm(resolve_causal_lm(entry, model_cache, device), batch_size)


def _endpoint_template(entry: LanguageModelEntry) -> Template:
    """Return the frame of an endpoint's prompts; a chat needs the tokenizer it is taken from."""
    tokenizer = None if entry.tokenizer is None else load_tokenizer(resolve_model(entry.tokenizer))
    return choose_template(tokenizer, entry.template, entry.language_model_name)
