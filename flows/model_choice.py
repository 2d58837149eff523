"""What ``auto`` means on this machine: resolved once, when a study is first registered."""

from __future__ import annotations

from huggingface_hub import try_to_load_from_cache

from flows.study import StudySettings
from udfs.packaged_models import is_packaged_here

AUTO = "auto"

GPT2 = "openai-community/gpt2"
"""GCV measures story length in GPT-2's tokens."""

OFFLINE_EMBEDDER = "packaged:all-minilm-l6-v2"
OFFLINE_TAGGER = "packaged:en_core_web_sm"


def resolve_auto(settings: StudySettings, known: StudySettings | None = None) -> StudySettings:
    """Replace every ``auto`` by the model it stands for here; the study row stores the outcome.

    A study that is registered (*known*) keeps the model it had: what lies in a cache today must not
    change its numbers.

    The tokenizer is GPT-2's where it lies in the local cache, else the embedding model's own, which
    needs no network; story lengths in the two differ by some percent, so the name is a column.
    """
    if known is not None:
        names = ("embedding_model_name", "tagging_model_name", "tokenizer_name")
        kept = {name: getattr(known, name) for name in names if getattr(settings, name) == AUTO}
        return settings.model_copy(update=kept)
    chosen: dict[str, str] = {}
    if settings.embedding_model_name == AUTO:
        chosen["embedding_model_name"] = (
            OFFLINE_EMBEDDER
            if is_packaged_here(OFFLINE_EMBEDDER)
            else "sentence-transformers/all-MiniLM-L6-v2"
        )
    if settings.tagging_model_name == AUTO:
        chosen["tagging_model_name"] = (
            OFFLINE_TAGGER if is_packaged_here(OFFLINE_TAGGER) else "en_core_web_sm"
        )
    if settings.tokenizer_name == AUTO:
        is_cached = isinstance(try_to_load_from_cache(GPT2, "tokenizer.json"), str)
        offline = OFFLINE_EMBEDDER if is_packaged_here(OFFLINE_EMBEDDER) else GPT2
        chosen["tokenizer_name"] = GPT2 if is_cached else offline
    return settings.model_copy(update=chosen)
