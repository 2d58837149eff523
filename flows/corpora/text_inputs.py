"""Texts to score: records with a text column, or plain text files that are one document each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from flows.corpora import values
from flows.corpora.errors import InvalidRecordError, UnusedOptionError
from flows.corpora.files import (
    BYTE_ORDER_MARK,
    InputFile,
    bare_suffix,
    content_sha256,
    find_files,
    open_bytes,
)
from flows.corpora.layouts import Place, TextsLayout, find_column
from flows.corpora.records import column_names, delimiter_hint, read_records

PLAIN_SUFFIXES = frozenset({".txt", ".text", ".md"})

_READ_BYTES = 16 << 20


@dataclass(frozen=True)
class TextBatch:
    """Texts that follow each other in one file; None where a record has none."""

    file_name: str
    line_numbers: Sequence[int]
    texts: Sequence[str | None]
    context_texts: Sequence[str | None]
    byte_count: int


@dataclass(frozen=True)
class TextInput:
    """Everything behind one layout."""

    file_names: tuple[str, ...]
    content_sha256: str
    byte_count: int
    read_texts: Callable[[], Iterator[TextBatch]]
    notes: tuple[str, ...] = ()


def open_texts(layout: TextsLayout) -> TextInput:
    """Find what *layout* names, map its columns and fingerprint its bytes.

    Raises
    ------
    UnreadableInputError
        A file is absent or not readable.
    MissingColumnError
        The text column is missing; the sentence says what was found.
    UnusedOptionError
        A column is named for plain text files, which have none.
    """
    path = Path(layout.path).expanduser()
    plain = _plain_files(path, layout)
    if plain:
        inside = sorted(path.iterdir()) if path.is_dir() else []
        left = [each.name for each in inside if each.is_file() and each not in plain]
        return _input(plain, lambda: map(_document, plain), _skipped(left))
    found = find_files(path, layout.record_format)
    for file in found.files:
        _columns(file, layout)
    readers = [partial(_record_batches, file, layout) for file in found.files]
    return _input(
        [file.path for file in found.files],
        lambda: (batch for read in readers for batch in read()),
        _skipped(found.skipped_names),
    )


def _input(
    paths: Sequence[Path], read_texts: Callable[[], Iterator[TextBatch]], notes: tuple[str, ...]
) -> TextInput:
    size = sum(path.stat().st_size for path in paths)
    names = tuple(path.name for path in paths)
    return TextInput(names, content_sha256(paths), size, read_texts, notes)


def _skipped(names: Sequence[str]) -> tuple[str, ...]:
    shown = ", ".join(names)
    return (f"not read, since their format is not that of the others: {shown}",) if names else ()


def _plain_files(path: Path, layout: TextsLayout) -> list[Path]:
    """Return the plain text files at *path*; none where it holds records."""
    if layout.record_format is not None:
        return []
    candidates = sorted(path.iterdir()) if path.is_dir() else [path]
    found = [each for each in candidates if each.is_file() and bare_suffix(each) in PLAIN_SUFFIXES]
    for option in ("text_column", "context_column", "delimiter"):
        if found and (given := getattr(layout, option)) is not None:
            raise UnusedOptionError(
                f"--{option.replace('_', '-')} must be left out for plain text files, got "
                f"{given!r} with {path}; each file is one document."
            )
    return found


def _document(path: Path) -> TextBatch:
    with open_bytes(path) as source:
        pieces = iter(lambda: source.read(_READ_BYTES), b"")
        content = b"".join(pieces).removeprefix(BYTE_ORDER_MARK)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRecordError(
            f"text must be UTF-8, {path} has byte 0x{content[error.start]:02x} at position "
            f"{error.start + 1}; convert the file to UTF-8."
        ) from None
    return TextBatch(path.name, [1], [text], [None], path.stat().st_size)


def _columns(file: InputFile, layout: TextsLayout) -> tuple[str, str | None]:
    names = column_names(file, layout.delimiter)
    place = Place(str(file.path), delimiter_hint(file, names))
    text = find_column("document", names, layout.text_column, place, is_needed=True)
    context = find_column("context", names, layout.context_column, place, is_needed=False)
    return str(text), context


def _record_batches(file: InputFile, layout: TextsLayout) -> Iterator[TextBatch]:
    text, context = _columns(file, layout)
    wanted = [text] if context is None else [text, context]
    for batch in read_records(file, delimiter=layout.delimiter, columns=wanted):
        yield TextBatch(
            batch.file_name,
            batch.line_numbers,
            values.texts(batch, text),
            [None] * len(batch.records) if context is None else values.texts(batch, context),
            batch.byte_count,
        )
