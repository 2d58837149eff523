"""Texts of language models from a file or folder as one stream of batches. Nothing is filled in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain
from pathlib import Path

from flows.corpora import values
from flows.corpora.errors import InvalidRecordError, MissingColumnError
from flows.corpora.files import InputFile, content_sha256, find_files
from flows.corpora.layouts import GenerationsLayout, Place, find_column, split_columns
from flows.corpora.records import (
    RecordBatch,
    column_names,
    delimiter_hint,
    read_records,
    refuse_unused_delimiter,
)
from flows.corpora.story_inputs import PromptBatch, open_prompts

STOP_REASONS = {
    "eos": "eos",
    "eos_token": "eos",
    "stop": "eos",
    "end_turn": "eos",
    "length": "length",
    "max_length": "length",
    "max_tokens": "length",
    "max_new_tokens": "length",
    "stop_string": "stop_string",
    "stop_sequence": "stop_string",
}
"""Stop reasons as other programs write them, and the house word for each."""

LARGEST_INTEGER = (1 << 31) - 1

LARGEST_SAMPLE_INDEX = 9_999
"""Every sample up to the largest is asked for, so one absurd index would ask for billions."""

LABELS = ("language_model_revision", "quantization", "template_name")
COUNTS = ("prompt_token_count", "story_token_count")


@dataclass(frozen=True)
class GenerationBatch:
    """Generations that follow each other in one file; None where a value is not given."""

    file_name: str
    line_numbers: Sequence[int]
    source_prompt_ids: Sequence[str | None]
    prompts: Sequence[str | None]
    texts: Sequence[str | None]
    language_model_names: Sequence[str]
    decoding_strategy_names: Sequence[str]
    sample_indexes: Sequence[int | None]
    seeds: Sequence[int | None]
    stop_reasons: Sequence[str | None]
    sampling_temperatures: Sequence[float | None]
    wall_seconds: Sequence[float | None]
    labels: dict[str, Sequence[str | None]]
    """`LABELS`, by name."""
    counts: dict[str, Sequence[int | None]]
    """`COUNTS`, by name."""
    byte_count: int


@dataclass(frozen=True)
class GenerationInput:
    """Everything behind one layout."""

    file_names: tuple[str, ...]
    content_sha256: str
    read_generations: Callable[[], Iterator[GenerationBatch]]
    read_prompts: Callable[[], Iterator[PromptBatch]] | None
    unknown_stop_reasons: Counter[str] = field(default_factory=Counter)
    """Stop reasons that are not known, filled while reading."""
    known_stop_reasons: Counter[str] = field(default_factory=Counter)
    """Stop reasons that are known, as they are written, filled while reading."""
    notes: tuple[str, ...] = ()

    @property
    def stop_count(self) -> int:
        """Records read so far whose stop reason is ``stop``, which some programs write for both
        the end token and a stop string."""
        return self.known_stop_reasons["stop"]


@dataclass(frozen=True)
class _Columns:
    text: str
    prompt_id: str | None
    prompt: str | None
    language_model: tuple[str, ...]
    decoding_strategy: str | None
    sample_index: str | None
    seed: str | None
    stop_reason: str | None
    sampling_temperature: str | None
    wall_seconds: str | None
    others: dict[str, str | None]

    def wanted(self) -> list[str]:
        """Every column that is read."""
        single = (
            self.text,
            self.prompt_id,
            self.prompt,
            self.decoding_strategy,
            self.sample_index,
            self.seed,
            self.stop_reason,
            self.sampling_temperature,
            self.wall_seconds,
        )
        names = [*single, *self.language_model, *self.others.values()]
        return list(dict.fromkeys(name for name in names if name is not None))


def open_generations(layout: GenerationsLayout) -> GenerationInput:
    """Find what *layout* names, map its columns and fingerprint its bytes.

    Raises
    ------
    UnreadableInputError
        A file is absent or not readable.
    MissingColumnError
        A column is missing; the sentence says what was found and which option maps it.
    """
    found = find_files(Path(layout.path).expanduser(), layout.record_format)
    unknown: Counter[str] = Counter()
    known: Counter[str] = Counter()
    readers = []
    for file in found.files:
        names = column_names(file, layout.delimiter)
        place = Place(str(file.path), delimiter_hint(file, names))
        columns = _columns(names, layout, place)
        readers.append(partial(_batches, file, columns, layout, unknown, known))
    files, read_prompts = found.files, None
    if layout.prompts is not None:
        prompt_files, read_prompts = open_prompts(
            layout.prompts, layout.prompt_id_column, layout.prompt_column, layout.delimiter
        )
        files = (*prompt_files, *files)
    refuse_unused_delimiter(files, layout.delimiter)
    skipped = ", ".join(found.skipped_names)
    return GenerationInput(
        tuple(file.name for file in files),
        content_sha256([file.path for file in files]),
        lambda: chain.from_iterable(read() for read in readers),
        read_prompts,
        unknown,
        known,
        (f"not read, since their format is not known: {skipped}",) if skipped else (),
    )


def _columns(names: Sequence[str], layout: GenerationsLayout, place: Place) -> _Columns:
    def find(name: str, given: str | None, *, is_needed: bool = False) -> str | None:
        return find_column(name, names, given, place, is_needed=is_needed)

    prompt = None if layout.prompts else find("prompt", layout.prompt_column)
    prompt_id = find("prompt_id", layout.prompt_id_column, is_needed=prompt is None)
    return _Columns(
        text=str(find("text", layout.text_column, is_needed=True)),
        prompt_id=prompt_id,
        prompt=prompt,
        language_model=_language_model_columns(names, layout, place),
        decoding_strategy=_strategy_column(names, layout, place),
        sample_index=find("sample_index", layout.sample_index_column),
        seed=find("seed", layout.seed_column),
        stop_reason=find("stop_reason", layout.stop_reason_column),
        sampling_temperature=find("sampling_temperature", layout.sampling_temperature_column),
        wall_seconds=find("wall_seconds", None),
        others={name: find(name, None) for name in (*LABELS, *COUNTS)},
    )


def _language_model_columns(
    names: Sequence[str], layout: GenerationsLayout, place: Place
) -> tuple[str, ...]:
    if layout.language_model_column is not None:
        given = split_columns(layout.language_model_column, names)
        found = [find_column("language_model", names, n, place, is_needed=True) for n in given]
        return tuple(str(name) for name in found)
    if layout.language_model is not None:
        return ()
    hint = Place(place.path, place.hint or " Or give one name for all with --language-model.")
    return (str(find_column("language_model", names, None, hint, is_needed=True)),)


def _strategy_column(names: Sequence[str], layout: GenerationsLayout, place: Place) -> str | None:
    if layout.decoding_strategy is None:
        hint = place.hint or " Or give one name for all with --decoding-strategy."
        return find_column(
            "decoding_strategy",
            names,
            layout.decoding_strategy_column,
            Place(place.path, hint),
            is_needed=True,
        )
    if "/" in layout.decoding_strategy:
        raise MissingColumnError(
            f"a decoding strategy's name must have no slash, got {layout.decoding_strategy!r}; "
            "a story source is called LANGUAGE MODEL/DECODING STRATEGY."
        )
    if layout.decoding_strategy_column is not None:
        raise MissingColumnError(
            "the decoding strategy must come from one place, got a constant "
            f"{layout.decoding_strategy!r} and column {layout.decoding_strategy_column!r}; "
            "give one of --decoding-strategy and --decoding-strategy-column."
        )
    return None


@dataclass
class _Numbering:
    """Holds a file to one way of numbering: every record gives its sample index, or none does."""

    column: str | None
    is_given: bool | None = None

    def checked(self, batch: RecordBatch, found: Sequence[int | None]) -> Sequence[int | None]:
        """Return *found*; numbers made up for some records could be those of others."""
        for index, value in enumerate(found):
            if self.is_given is None:
                self.is_given = value is not None
            elif self.is_given != (value is not None):
                raise InvalidRecordError(
                    f"every record or none must have a sample index in {self.column!r}, "
                    f"{values.place(batch, index)} has {'none' if value is None else value} and "
                    f"those before it {'have one' if self.is_given else 'have none'}; "
                    "number all of them, or leave the column out."
                )
        return found


def _batches(
    file: InputFile,
    columns: _Columns,
    layout: GenerationsLayout,
    unknown: Counter[str],
    known: Counter[str],
) -> Iterator[GenerationBatch]:
    wanted = columns.wanted()
    numbering = _Numbering(columns.sample_index)
    for batch in read_records(file, delimiter=layout.delimiter, columns=wanted):
        nothing: Sequence[str | None] = [None] * len(batch.records)
        yield GenerationBatch(
            file_name=batch.file_name,
            line_numbers=batch.line_numbers,
            source_prompt_ids=(
                nothing if columns.prompt_id is None else values.ids(batch, columns.prompt_id)
            ),
            prompts=nothing if columns.prompt is None else values.texts(batch, columns.prompt),
            texts=values.texts(batch, columns.text),
            language_model_names=_language_models(batch, columns, layout.language_model),
            decoding_strategy_names=_strategies(batch, columns, layout.decoding_strategy),
            sample_indexes=numbering.checked(
                batch,
                values.integers(
                    batch, columns.sample_index, minimum=0, maximum=LARGEST_SAMPLE_INDEX
                ),
            ),
            seeds=values.integers(batch, columns.seed, maximum=values.LARGEST_BIGINT),
            stop_reasons=_stop_reasons(batch, columns.stop_reason, unknown, known),
            sampling_temperatures=values.numbers(batch, columns.sampling_temperature, minimum=0),
            wall_seconds=values.numbers(batch, columns.wall_seconds, minimum=0),
            labels={name: values.names(batch, columns.others[name]) for name in LABELS},
            counts={
                name: values.integers(
                    batch, columns.others[name], minimum=0, maximum=LARGEST_INTEGER
                )
                for name in COUNTS
            },
            byte_count=batch.byte_count,
        )


def _language_models(batch: RecordBatch, columns: _Columns, constant: str | None) -> Sequence[str]:
    parts: list[Sequence[str | None]] = [
        values.names(batch, column) for column in columns.language_model
    ]
    if constant is not None:
        parts.insert(0, [constant] * len(batch.records))
    joined = values.joined_names(parts)
    return _present(batch, joined, " + ".join(columns.language_model), "a language model")


def _strategies(batch: RecordBatch, columns: _Columns, constant: str | None) -> Sequence[str]:
    if constant is not None:
        return [constant] * len(batch.records)
    column = columns.decoding_strategy
    found = values.strategy_names(batch, column)
    return _present(batch, found, column, "a decoding strategy")


def _present(
    batch: RecordBatch, found: Sequence[str | None], column: str | None, what: str
) -> Sequence[str]:
    present = [name for name in found if name is not None]
    if len(present) < len(found):
        index = next(i for i, name in enumerate(found) if name is None)
        raise InvalidRecordError(
            f"every generation must name {what} in {column!r}, "
            f"{values.place(batch, index)} has none."
        )
    return present


def _stop_reasons(
    batch: RecordBatch, column: str | None, unknown: Counter[str], known: Counter[str]
) -> Sequence[str | None]:
    found: list[str | None] = []
    for value in values.names(batch, column):
        written = "" if value is None else value.strip().lower()
        reason = STOP_REASONS.get(written)
        if reason is not None:
            known[written] += 1
        elif value is not None:
            unknown[value[:40]] += 1
        found.append(reason)
    return found
