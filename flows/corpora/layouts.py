"""Which column means what: common layouts by their names, anything else by option. No I/O."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass as checked_dataclass

from flows.corpora.errors import MissingColumnError, UnusedOptionError

HUB_PREFIX = "hf:"
"""Marks the id of a Hugging Face data set, which could be a path too."""

_STRICT = ConfigDict(extra="forbid", strict=True)
"""The layouts are also what a study file says of its inputs."""


@checked_dataclass(frozen=True, config=_STRICT)
class StoriesLayout:
    """Human stories at *path*: a file, a folder, the WritingPrompts layout, or a data set id."""

    path: str
    prompts: str | None = None
    """File of the prompts, where *path* holds responses with their prompt's id only."""
    prompt_id_column: str | None = None
    prompt_column: str | None = None
    text_column: str | None = None
    delimiter: str | None = None
    record_format: str | None = None
    split: str | None = None
    """Split of a Hugging Face data set; ``train`` where not given."""


@checked_dataclass(frozen=True, config=_STRICT)
class GenerationsLayout:
    """Texts of language models at *path*, a file or folder."""

    path: str
    prompts: str | None = None
    prompt_id_column: str | None = None
    prompt_column: str | None = None
    text_column: str | None = None
    language_model: str | None = None
    """A constant name; with a column too, what the column's value is appended to."""
    language_model_column: str | None = None
    """A column, or several joined by ``+`` whose values are joined by ``-``."""
    decoding_strategy: str | None = None
    decoding_strategy_column: str | None = None
    sample_index_column: str | None = None
    seed_column: str | None = None
    stop_reason_column: str | None = None
    sampling_temperature_column: str | None = None
    delimiter: str | None = None
    record_format: str | None = None


@checked_dataclass(frozen=True, config=_STRICT)
class VectorsLayout:
    """Ready diversity vectors at *path*, long or side by side."""

    path: str
    prompt_id_column: str | None = None
    story_source_column: str | None = None
    language_model_column: str | None = None
    decoding_strategy_column: str | None = None
    delimiter: str | None = None
    record_format: str | None = None


@checked_dataclass(frozen=True, config=_STRICT)
class ForecastsLayout:
    """Forecasts made elsewhere at *path*: top labels with confidences, or an ``.npz`` softmax."""

    path: str
    language_model: str | None = None
    """Name of what made them; the file's own name where not given."""
    true_label_column: str | None = None
    pred_label_column: str | None = None
    confidence_column: str | None = None
    probabilities_column: str | None = None
    """Lists of probabilities instead of a top label and its confidence."""
    delimiter: str | None = None
    record_format: str | None = None


@dataclass(frozen=True)
class TextsLayout:
    """Texts of a test set at *path*: records, or plain text files that are one document each."""

    path: str
    test_set_name: str
    text_column: str | None = None
    context_column: str | None = None
    """Column of what stands before each text: read by the language model, and not scored."""
    delimiter: str | None = None
    record_format: str | None = None


@dataclass(frozen=True)
class FilingsLayout:
    """Filings of a test set at *path*: whole ones, or records of sections cut out elsewhere."""

    path: str
    test_set_name: str
    has_tables: bool = False
    """Whether rows of figures are kept in Item 7; of a cut section whoever cut it decided."""


NAMES: Mapping[str, tuple[str, ...]] = {
    "prompt_id": ("prompt_id",),
    "prompt": ("prompt", "prompt_text"),
    "text": ("text", "story", "response", "completion"),
    "language_model": ("language_model_name", "language_model", "model"),
    "decoding_strategy": ("decoding_strategy_name", "decoding_strategy", "strategy"),
    "story_source": ("story_source_name",),
    "sample_index": ("sample_index", "sample_idx"),
    "seed": ("seed",),
    "stop_reason": ("stop_reason", "finish_reason"),
    "sampling_temperature": ("sampling_temperature", "temperature"),
    "language_model_revision": ("language_model_revision", "revision"),
    "quantization": ("quantization",),
    "template_name": ("template_name",),
    "prompt_token_count": ("prompt_token_count",),
    "story_token_count": ("story_token_count",),
    "wall_seconds": ("wall_seconds",),
    "story_count": ("story_count",),
    "true_label": ("true_label", "label", "ground_truth"),
    "pred_label": ("pred_label", "predicted_label", "top_label"),
    "confidence": ("confidence",),
    "probabilities": ("probabilities", "softmax"),
    "context": ("context",),
    "document": ("text", "continuation", "document"),
    "item_7": ("item_7", "mda"),
    "form": ("form_name", "filing_type", "form"),
    "period_of_report": ("period_of_report",),
    "cik": ("cik",),
}
"""Column names recognised for each field, matched whatever their case."""

MEANINGS: Mapping[str, str] = {
    "prompt_id": "the prompt's id",
    "prompt": "the prompt's text",
    "text": "the story's text",
    "language_model": "the language model's name",
    "decoding_strategy": "the decoding strategy's name",
    "story_source": "the story source",
    "sample_index": "the sample index",
    "seed": "the seed",
    "stop_reason": "the stop reason",
    "sampling_temperature": "the sampling temperature",
    "true_label": "the label that came",
    "pred_label": "the likeliest label",
    "confidence": "the probability of the likeliest label",
    "probabilities": "the probabilities of all labels",
    "context": "what stands before the text",
    "document": "the text to score",
    "item_7": "the text of Item 7",
    "form": "the form, as 10-K",
    "period_of_report": "the end of the period, as 2023-12-31",
    "cik": "the Central Index Key",
}

OPTIONS: Mapping[str, str] = {
    "prompt_id": "--prompt-id-column",
    "prompt": "--prompt-column",
    "text": "--text-column",
    "language_model": "--language-model-column",
    "decoding_strategy": "--decoding-strategy-column",
    "story_source": "--story-source-column",
    "sample_index": "--sample-index-column",
    "seed": "--seed-column",
    "stop_reason": "--stop-reason-column",
    "sampling_temperature": "--sampling-temperature-column",
    "true_label": "--true-label-column",
    "pred_label": "--pred-label-column",
    "confidence": "--confidence-column",
    "probabilities": "--probabilities-column",
    "context": "--context-column",
    "document": "--text-column",
}
"""Command-line option that maps each field."""

STORY_OPTIONS: Mapping[str, str] = {
    "prompts": "--prompts",
    **{f"{field}_column": OPTIONS[field] for field in ("prompt_id", "prompt", "text")},
    "delimiter": "--delimiter",
    "record_format": "--format",
    "split": "--split",
}
"""Command-line option of each field of `StoriesLayout` beside the path."""

AXES = ("semantic_diversity", "lexical_diversity", "syntactic_diversity")


RECOGNISED = frozenset(
    (
        *(name for names in NAMES.values() for name in names),
        *(f"{side}{axis}" for side in ("", "human_", "model_") for axis in AXES),
    )
)
"""Every column name that means something where no option maps it."""


def refuse_unused(layout: StoriesLayout, what: str, used: Container[str] = ()) -> None:
    """Refuse options of *layout* that *what*, the kind of input at its path, has no use for.

    Raises
    ------
    UnusedOptionError
        One is given; the sentence names the first.
    """
    for field, option in STORY_OPTIONS.items():
        if field not in used and (given := getattr(layout, field)) is not None:
            raise UnusedOptionError(
                f"{option} must be left out for {what}, got {given!r} with {layout.path}; "
                "it would change nothing."
            )


@dataclass(frozen=True)
class Place:
    """Where columns were looked for, and what to add about it."""

    path: str
    hint: str = ""


def find_column(
    field: str, names: Sequence[str], given: str | None, place: Place, *, is_needed: bool
) -> str | None:
    """Return the column of *names* that holds *field*, None where it may be absent and is.

    Raises
    ------
    MissingColumnError
        The column asked for is not there; a needed one is not recognised; or two could be meant.
    """
    if given is not None:
        if given not in names:
            raise MissingColumnError(
                f"column {given!r} must be there, found {_shown(names)} in {place.path}; "
                f"correct {OPTIONS.get(field, 'the option')}.{place.hint}"
            )
        return given
    by_lower_case = {name.strip().lower(): name for name in names}
    found = [by_lower_case[name] for name in NAMES.get(field, (field,)) if name in by_lower_case]
    if len(found) > 1:
        raise MissingColumnError(
            f"one column must be {_meaning(field)}, found {_shown(found)} in {place.path}; "
            f"choose one with {OPTIONS.get(field, 'an option')}."
        )
    if not found and is_needed:
        remedy = f"; name it with {OPTIONS[field]}" if field in OPTIONS else ""
        raise MissingColumnError(
            f"a column with {_meaning(field)} ({' or '.join(NAMES.get(field, (field,)))}) must be "
            f"there, found {_shown(names)} in {place.path}{remedy}.{place.hint}"
        )
    return found[0] if found else None


def split_columns(given: str, names: Iterable[str]) -> list[str]:
    """Return the columns that ``a+b`` names; a column of that very name wins."""
    return [given] if given in set(names) else [part.strip() for part in given.split("+")]


def _meaning(field: str) -> str:
    return MEANINGS.get(field, field)


def _shown(names: Sequence[str]) -> str:
    shown = ", ".join(name if len(name) <= 60 else name[:59] + "…" for name in names[:20])
    return shown + (f" and {len(names) - 20} more" if len(names) > 20 else "")
