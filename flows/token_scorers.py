"""The language model behind an entry as a scorer of tokens: loaded once per process."""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from flows.language_models.causal_lm import resolve_causal_lm
from flows.language_models.errors import LanguageModelError
from flows.language_models.ready_made import LanguageModelEntry
from flows.language_models.samples import LanguageModelIdentity
from flows.language_models.token_scoring import TokenScorer, WindowSettings
from flows.language_models.weights import load_weights
from flows.settings import Settings

_LOADING = threading.Lock()
"""Two batches of the thread pool must not load the same weights at once."""


@dataclass(frozen=True)
class ScorerChoice:
    """Which language model reads, and how; what a loaded scorer is kept by."""

    entry: LanguageModelEntry
    windows: WindowSettings
    model_cache: Path
    device: str | None
    batch_tokens: int


def identify_scorer(entry: LanguageModelEntry, settings: Settings) -> LanguageModelIdentity:
    """Return what the scores of *entry* depend on, without loading its weights.

    Raises
    ------
    LanguageModelError
        It is an endpoint, which shows no logits; or its weights are not there.
    """
    if entry.endpoint is not None:
        raise LanguageModelError(
            "a language model that scores must be loaded here, since an endpoint shows no logits, "
            f"got {entry.language_model_name} at {entry.endpoint}; give it weights instead."
        )
    return resolve_causal_lm(entry, settings.model_cache, settings.device).identity


def token_scorer(choice: ScorerChoice) -> TokenScorer:
    """Return the scorer of *choice*, kept until another one is asked for."""
    with _LOADING:
        return _loaded(choice)


@lru_cache(maxsize=1)
def _loaded(choice: ScorerChoice) -> TokenScorer:
    resolved = resolve_causal_lm(choice.entry, choice.model_cache, choice.device)
    model = load_weights(
        resolved.located, resolved.dtype, resolved.device, resolved.identity.quantization
    )
    return TokenScorer(model, resolved.template.tokenizer, choice.windows, choice.batch_tokens)
