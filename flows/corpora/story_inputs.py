"""Human stories from any layout as one stream of batches: prompt, story and place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from flows.corpora import values, writing_prompts
from flows.corpora.errors import InvalidRecordError, MissingColumnError
from flows.corpora.files import InputFile, content_sha256, find_files
from flows.corpora.huggingface import HuggingFaceDataset, dataset_id
from flows.corpora.layouts import (
    STORY_OPTIONS,
    Place,
    StoriesLayout,
    find_column,
    refuse_unused,
)
from flows.corpora.records import (
    RecordBatch,
    column_names,
    delimiter_hint,
    read_records,
    refuse_unused_delimiter,
)

ByteProgress = Callable[[int], None]


@dataclass(frozen=True)
class StoryBatch:
    """Stories that follow each other in one input; None where the record holds no value."""

    file_name: str
    line_numbers: Sequence[int]
    source_prompt_ids: Sequence[str | None]
    prompts: Sequence[str | None]
    """Prompt texts; all None where they come from a prompts file."""
    texts: Sequence[str | None]
    byte_count: int


@dataclass(frozen=True)
class PromptBatch:
    """Prompts that follow each other in a prompts file."""

    file_name: str
    line_numbers: Sequence[int]
    source_prompt_ids: Sequence[str]
    prompts: Sequence[str]
    byte_count: int


@dataclass(frozen=True)
class StoryInput:
    """Everything behind one layout."""

    file_names: tuple[str, ...]
    content_sha256: str
    read_stories: Callable[[], Iterator[StoryBatch]]
    read_prompts: Callable[[], Iterator[PromptBatch]] | None
    notes: tuple[str, ...] = ()


def open_stories(layout: StoriesLayout) -> StoryInput:
    """Find what *layout* names, map its columns and fingerprint its bytes.

    Raises
    ------
    UnreadableInputError
        A file or data set is absent or not readable.
    MissingColumnError
        A column is missing; the sentence says what was found and which option maps it.
    UnusedOptionError
        An option is given that does not apply to this kind of input.
    """
    path = Path(layout.path).expanduser()
    pairs = writing_prompts.find_pairs(path)
    if pairs:
        refuse_unused(layout, f"{writing_prompts.SOURCE} and {writing_prompts.TARGET} files")
        return _of_pairs(pairs)
    name = dataset_id(layout.path)
    if name is not None:
        columns = ("prompt_id_column", "prompt_column", "text_column")
        refuse_unused(layout, "a Hugging Face data set", used=(*columns, "split"))
        return _of_dataset(name, layout)
    refuse_unused(layout, "files", used=STORY_OPTIONS.keys() - {"split"})
    return _of_files(path, layout)


def open_prompts(
    path: str,
    prompt_id_column: str | None,
    prompt_column: str | None,
    delimiter: str | None,
) -> tuple[tuple[InputFile, ...], Callable[[], Iterator[PromptBatch]]]:
    """Return the files of a prompts file or folder, and how to read them."""
    found = find_files(Path(path).expanduser())
    mapped = []
    for file in found.files:
        names = column_names(file, delimiter)
        place = Place(str(file.path), delimiter_hint(file, names))
        # The same option names the column in both files where both have it.
        given = prompt_id_column if prompt_id_column in names else None
        id_column = find_column("prompt_id", names, given, place, is_needed=True)
        text_column = find_column("prompt", names, prompt_column, place, is_needed=True)
        mapped.append((file, str(id_column), str(text_column)))
    readers = [
        partial(_prompt_batches, file, id_column, text_column, delimiter)
        for file, id_column, text_column in mapped
    ]
    return found.files, lambda: chain.from_iterable(read() for read in readers)


def _prompt_batches(
    file: InputFile, id_column: str, text_column: str, delimiter: str | None
) -> Iterator[PromptBatch]:
    for batch in read_records(file, delimiter=delimiter, columns=[id_column, text_column]):
        source_ids = values.ids(batch, id_column)
        prompts = values.texts(batch, text_column)
        for index, (source_id, prompt) in enumerate(zip(source_ids, prompts, strict=True)):
            if source_id is None or prompt is None:
                column = id_column if source_id is None else text_column
                raise InvalidRecordError(
                    f"a prompt must have an id and a text, {values.place(batch, index)} has no "
                    f"{column!r}."
                )
        yield PromptBatch(
            batch.file_name,
            batch.line_numbers,
            [source_id for source_id in source_ids if source_id is not None],
            [prompt for prompt in prompts if prompt is not None],
            batch.byte_count,
        )


def _of_pairs(pairs: Sequence[writing_prompts.WritingPromptsPair]) -> StoryInput:
    paths = list(chain.from_iterable((pair.source, pair.target) for pair in pairs))

    def read() -> Iterator[StoryBatch]:
        for pair in pairs:
            for batch in writing_prompts.read_pair(pair):
                yield _story_batch(batch, None, writing_prompts.PROMPT, writing_prompts.TEXT)

    return StoryInput(tuple(path.name for path in paths), content_sha256(paths), read, None)


def _of_dataset(name: str, layout: StoriesLayout) -> StoryInput:
    dataset = HuggingFaceDataset(name, layout.split)
    place = Place(f"{dataset.name}, split {dataset.split}")
    id_column, prompt_column, text_column = _story_columns(
        dataset.column_names(), layout, place, has_prompts=False
    )
    wanted = [column for column in (id_column, prompt_column, text_column) if column is not None]

    def read() -> Iterator[StoryBatch]:
        for batch in dataset.read(wanted):
            yield _story_batch(batch, id_column, prompt_column, text_column)

    return StoryInput((dataset.name,), dataset.content_sha256(), read, None)


def _of_files(path: Path, layout: StoriesLayout) -> StoryInput:
    found = find_files(path, layout.record_format)
    readers = []
    for file in found.files:
        names = column_names(file, layout.delimiter)
        place = Place(str(file.path), delimiter_hint(file, names))
        columns = _story_columns(names, layout, place, has_prompts=layout.prompts is not None)
        readers.append(partial(_file_batches, file, columns, layout.delimiter))
    files, read_prompts = found.files, None
    if layout.prompts is not None:
        prompt_files, read_prompts = open_prompts(
            layout.prompts, layout.prompt_id_column, layout.prompt_column, layout.delimiter
        )
        files = (*prompt_files, *files)
    refuse_unused_delimiter(files, layout.delimiter)
    notes = (
        (f"not read, since their format is not known: {', '.join(found.skipped_names)}",)
        if found.skipped_names
        else ()
    )
    return StoryInput(
        tuple(file.name for file in files),
        content_sha256([file.path for file in files]),
        lambda: chain.from_iterable(read() for read in readers),
        read_prompts,
        notes,
    )


def _story_columns(
    names: Sequence[str], layout: StoriesLayout, place: Place, *, has_prompts: bool
) -> tuple[str | None, str | None, str]:
    text = find_column("text", names, layout.text_column, place, is_needed=True)
    if has_prompts:
        id_column = find_column("prompt_id", names, layout.prompt_id_column, place, is_needed=True)
        return id_column, None, str(text)
    id_column = find_column("prompt_id", names, layout.prompt_id_column, place, is_needed=False)
    hint = replace(place, hint=_prompts_hint(id_column) or place.hint)
    prompt = find_column("prompt", names, layout.prompt_column, hint, is_needed=True)
    if prompt == text or id_column == text:
        raise MissingColumnError(
            f"prompt and story must be in columns of their own, got {text!r} for both "
            f"in {place.path}; correct --prompt-column or --text-column."
        )
    return id_column, prompt, str(text)


def _prompts_hint(id_column: str | None) -> str:
    return "" if id_column is None else " Or give the file that holds the prompts with --prompts."


def _file_batches(
    file: InputFile, columns: tuple[str | None, str | None, str], delimiter: str | None
) -> Iterator[StoryBatch]:
    wanted = [column for column in columns if column is not None]
    for batch in read_records(file, delimiter=delimiter, columns=wanted):
        yield _story_batch(batch, *columns)


def _story_batch(
    batch: RecordBatch, id_column: str | None, prompt_column: str | None, text_column: str
) -> StoryBatch:
    nothing: Sequence[str | None] = [None] * len(batch.records)
    return StoryBatch(
        batch.file_name,
        batch.line_numbers,
        nothing if id_column is None else values.ids(batch, id_column),
        nothing if prompt_column is None else values.texts(batch, prompt_column),
        values.texts(batch, text_column),
        batch.byte_count,
    )
