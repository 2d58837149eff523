"""Ready diversity vectors, long or side by side, checked before any of them is kept.

Side by side, the human columns are repeated beside every configuration of a prompt: they must
agree, and enter once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import chain
from pathlib import Path

from flows.corpora import values
from flows.corpora.errors import InvalidVectorError, MissingColumnError
from flows.corpora.files import InputFile, content_sha256, find_files
from flows.corpora.generation_inputs import LARGEST_INTEGER
from flows.corpora.layouts import AXES, Place, VectorsLayout, find_column
from flows.corpora.records import (
    RecordBatch,
    column_names,
    delimiter_hint,
    read_records,
    refuse_unused_delimiter,
)

HUMAN = "human"


@dataclass(frozen=True)
class DiversityVector:
    """One vector and where it was read."""

    source_prompt_id: str
    story_source_name: str
    language_model_name: str | None
    decoding_strategy_name: str | None
    values: tuple[float, ...]
    """In the order of `AXES`, each in [0, 1]."""
    sampling_temperature: float | None
    story_count: int | None
    file_name: str
    line_number: int


@dataclass(frozen=True)
class VectorBatch:
    """Vectors of records that follow each other; side by side, two of each record."""

    vectors: Sequence[DiversityVector]
    record_count: int
    byte_count: int


@dataclass(frozen=True)
class VectorInput:
    """Everything behind one layout."""

    file_names: tuple[str, ...]
    content_sha256: str
    read_vectors: Callable[[], Iterator[VectorBatch]]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Columns:
    prompt_id: str
    story_source: str | None
    language_model: str | None
    decoding_strategy: str | None
    axes: tuple[str, ...]
    """Columns of the vector itself (side by side: of the model's)."""
    human_axes: tuple[str, ...]
    """Columns of the human vector beside it; none in the long layout."""
    sampling_temperature: str | None
    story_count: str | None

    def wanted(self) -> list[str]:
        """Every column that is read."""
        names = (
            self.prompt_id,
            self.story_source,
            self.language_model,
            self.decoding_strategy,
            *self.axes,
            *self.human_axes,
            self.sampling_temperature,
            self.story_count,
        )
        return [name for name in names if name is not None]


def open_vectors(layout: VectorsLayout) -> VectorInput:
    """Find what *layout* names, map its columns and fingerprint its bytes.

    Raises
    ------
    UnreadableInputError
        A file is absent or not readable.
    MissingColumnError
        A column is missing; the sentence says what was found.
    """
    found = find_files(Path(layout.path).expanduser(), layout.record_format)
    readers = []
    for file in found.files:
        names = column_names(file, layout.delimiter)
        columns = _columns(names, layout, Place(str(file.path), delimiter_hint(file, names)))
        readers.append(partial(_batches, file, columns, layout.delimiter))
    refuse_unused_delimiter(found.files, layout.delimiter)
    skipped = ", ".join(found.skipped_names)
    return VectorInput(
        tuple(file.name for file in found.files),
        content_sha256([file.path for file in found.files]),
        lambda: chain.from_iterable(read() for read in readers),
        (f"not read, since their format is not known: {skipped}",) if skipped else (),
    )


def _columns(names: Sequence[str], layout: VectorsLayout, place: Place) -> _Columns:
    def find(name: str, given: str | None = None, *, is_needed: bool = False) -> str | None:
        return find_column(name, names, given, place, is_needed=is_needed)

    lower_case = {name.strip().lower() for name in names}
    human_axes = [f"human_{axis}" for axis in AXES]
    is_side_by_side = bool(lower_case & set(human_axes)) and not lower_case >= set(AXES)
    axes = [f"model_{axis}" for axis in AXES] if is_side_by_side else list(AXES)
    story_source = None if is_side_by_side else find("story_source", layout.story_source_column)
    is_named = story_source is not None
    if not is_side_by_side and not lower_case & set(AXES):
        raise MissingColumnError(
            f"diversity vectors must be long ({', '.join(AXES)}) or side by side "
            f"({', '.join(human_axes)} and the same with model_), found "
            f"{', '.join(names[:20])} in {place.path}; rename the columns.{place.hint}"
        )
    return _Columns(
        prompt_id=str(find("prompt_id", layout.prompt_id_column, is_needed=True)),
        story_source=story_source,
        language_model=(
            None
            if is_named
            else find("language_model", layout.language_model_column, is_needed=True)
        ),
        decoding_strategy=(
            None
            if is_named
            else find("decoding_strategy", layout.decoding_strategy_column, is_needed=True)
        ),
        axes=tuple(str(find(axis, is_needed=True)) for axis in axes),
        human_axes=(
            tuple(str(find(axis, is_needed=True)) for axis in human_axes) if is_side_by_side else ()
        ),
        sampling_temperature=find("sampling_temperature"),
        story_count=find("story_count"),
    )


def _batches(file: InputFile, columns: _Columns, delimiter: str | None) -> Iterator[VectorBatch]:
    for batch in read_records(file, delimiter=delimiter, columns=columns.wanted()):
        vectors: list[DiversityVector] = []
        prompt_ids = values.ids(batch, columns.prompt_id)
        labels = _labels(batch, columns)
        temperatures = values.numbers(batch, columns.sampling_temperature, minimum=0)
        counts = values.integers(batch, columns.story_count, minimum=0, maximum=LARGEST_INTEGER)
        own = _axis_values(batch, columns.axes)
        human = _axis_values(batch, columns.human_axes) if columns.human_axes else None
        for index, (prompt, (model, strategy)) in enumerate(zip(prompt_ids, labels, strict=True)):
            if prompt is None:
                raise InvalidVectorError(
                    f"every vector must have a prompt id in {columns.prompt_id!r}, "
                    f"{values.place(batch, index)} has none."
                )
            where = (batch.file_name, int(batch.line_numbers[index]))
            if human is not None:
                vectors.append(
                    DiversityVector(prompt, HUMAN, None, None, human[index], None, None, *where)
                )
            source = HUMAN if model is None else f"{model}/{strategy}"
            vectors.append(
                DiversityVector(
                    prompt,
                    source,
                    model,
                    strategy,
                    own[index],
                    temperatures[index],
                    counts[index],
                    *where,
                )
            )
        yield VectorBatch(vectors, len(batch.records), batch.byte_count)


def _labels(batch: RecordBatch, columns: _Columns) -> list[tuple[str, str] | tuple[None, None]]:
    """Return language model and strategy of every record; a pair of None where it is human."""
    if columns.story_source is not None:
        return [
            _split_source(batch, index, columns.story_source, name)
            for index, name in enumerate(values.names(batch, columns.story_source))
        ]
    models = values.names(batch, columns.language_model)
    strategies = values.strategy_names(batch, columns.decoding_strategy)
    found: list[tuple[str, str] | tuple[None, None]] = []
    for index, (model, strategy) in enumerate(zip(models, strategies, strict=True)):
        if model is not None and model.lower() == HUMAN and not columns.human_axes:
            found.append((None, None))
        elif model is None or strategy is None:
            column = columns.language_model if model is None else columns.decoding_strategy
            raise InvalidVectorError(
                f"every vector must name its story source, {values.place(batch, index)} has "
                f"nothing in {column!r}."
            )
        else:
            found.append((model, strategy))
    return found


def _split_source(
    batch: RecordBatch, index: int, column: str, name: str | None
) -> tuple[str, str] | tuple[None, None]:
    if name == HUMAN:
        return (None, None)
    model, _, strategy = (name or "").rpartition("/")
    if not model or not strategy:
        raise InvalidVectorError(
            f"column {column!r} must hold 'human' or 'LANGUAGE MODEL/DECODING STRATEGY', "
            f"got {name!r} on {values.place(batch, index)}."
        )
    return (model, strategy)


def _axis_values(batch: RecordBatch, columns: Sequence[str]) -> list[tuple[float, ...]]:
    checked = [
        [
            _in_unit_interval(batch, index, column, value)
            for index, value in enumerate(values.column_values(batch, column))
        ]
        for column in columns
    ]
    return list(zip(*checked, strict=True))


def _in_unit_interval(batch: RecordBatch, index: int, column: str, value: object) -> float:
    number = values.number_in(value)
    if number is None or not 0.0 <= number <= 1.0:  # also where it is NaN
        shown = "nothing" if value is None or value == "" else repr(value)[:60]
        raise InvalidVectorError(
            f"column {column!r} must hold numbers in [0, 1], got {shown} on "
            f"{values.place(batch, index)}."
        )
    return number
