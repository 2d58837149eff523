"""The original WritingPrompts layout: ``NAME.wp_source`` and ``NAME.wp_target``, line by line.

Line k of the target is one story for the prompt on line k of the source; a prompt with several
stories is repeated. Line ends inside a text are written ``<newline>``.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from flows.corpora.errors import InvalidRecordError, UnreadableInputError
from flows.corpora.files import InputFile, RecordFormat, bare_suffix, compression_of, open_bytes
from flows.corpora.records import BATCH_RECORDS, BLOCK_BYTES, RecordBatch, decoded_lines

SOURCE, TARGET = ".wp_source", ".wp_target"
PROMPT, TEXT = "prompt", "text"

_NEWLINE = re.compile(r" ?<newline> ?")


@dataclass(frozen=True)
class WritingPromptsPair:
    """A source file and the target file beside it."""

    source: Path
    target: Path

    @property
    def name(self) -> str:
        """Name of the target, where the stories lie."""
        return self.target.name


def find_pairs(path: Path) -> tuple[WritingPromptsPair, ...]:
    """Return the pairs that *path* means: a folder, one of two files, or their common stem.

    Empty where *path* is in another layout.

    Raises
    ------
    UnreadableInputError
        One file of a pair is there and the other is not.
    """
    if path.is_dir():
        inside = [child for child in sorted(path.iterdir()) if child.is_file()]
    elif path.parent.is_dir():
        stem = _stem(path) if path.exists() else path.name
        inside = [
            child
            for child in sorted(path.parent.iterdir())
            if bare_suffix(child) in {SOURCE, TARGET} and _stem(child) == stem
        ]
        if path.exists() and path not in inside:
            return ()
    else:
        return ()
    sources = {_stem(child): child for child in inside if bare_suffix(child) == SOURCE}
    targets = {_stem(child): child for child in inside if bare_suffix(child) == TARGET}
    for stem in sorted(sources.keys() ^ targets.keys()):
        there = sources.get(stem) or targets[stem]
        missing = TARGET if stem in sources else SOURCE
        raise UnreadableInputError(
            f"the WritingPrompts layout needs {stem}{missing} beside {there.name}, "
            f"found none in {there.parent}."
        )
    return tuple(WritingPromptsPair(sources[stem], targets[stem]) for stem in sorted(sources))


def read_pair(pair: WritingPromptsPair) -> Iterator[RecordBatch]:
    """Yield records with ``prompt`` and ``text``, ``<newline>`` marks undone.

    Raises
    ------
    UnreadableInputError
        The files are empty or have different numbers of lines; the sentence gives both.
    InvalidRecordError
        A line is not UTF-8.
    """
    with open_bytes(pair.source) as source, open_bytes(pair.target) as target:
        sources = decoded_lines(_file(pair.source), source)
        targets = decoded_lines(_file(pair.target), target)
        numbers: list[int] = []
        records: list[dict[str, str]] = []
        size = position = count = 0
        for number, (prompt, text) in enumerate(zip_longest(sources, targets), 1):
            if prompt is None or text is None:
                longer = number + sum(1 for _ in (targets if prompt is None else sources))
                counts = (number - 1, longer) if prompt is None else (longer, number - 1)
                raise _uneven(pair, *counts)
            records.append({PROMPT: _restored(prompt), TEXT: _restored(text)})
            numbers.append(number)
            count, size = number, size + len(prompt) + len(text)
            if size >= BLOCK_BYTES or len(records) >= BATCH_RECORDS:
                before, position = position, source.position() + target.position()
                yield RecordBatch(pair.name, numbers, records, position - before)
                numbers, records, size = [], [], 0
        if not count:
            raise UnreadableInputError(
                f"an input file must hold records, found none in {pair.source}."
            )
        if records:
            position = source.position() + target.position() - position
            yield RecordBatch(pair.name, numbers, records, position)


def _uneven(pair: WritingPromptsPair, source_count: int, target_count: int) -> InvalidRecordError:
    return InvalidRecordError(
        f"{pair.source.name} and {pair.name} must have as many lines as each other, "
        f"got {source_count:,} and {target_count:,} in {pair.target.parent}."
    )


def _restored(line: str) -> str:
    return _NEWLINE.sub("\n", line).strip()


def _stem(path: Path) -> str:
    inner = path.with_suffix("") if compression_of(path) else path
    return inner.stem if inner.suffix.lower() in {SOURCE, TARGET} else inner.name


def _file(path: Path) -> InputFile:
    return InputFile(path, RecordFormat.CSV, compression_of(path))
