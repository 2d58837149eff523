"""Stream records out of JSONL, CSV, TSV and Parquet files, with the line each one starts on.

Never more of a file in memory than one batch: at most `BLOCK_BYTES` of it and `BATCH_RECORDS`
records (Parquet: a batch of rows of one row group).
"""

from __future__ import annotations

import contextlib
import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq

from flows.corpora.errors import (
    InvalidRecordError,
    MissingColumnError,
    UnreadableInputError,
    UnusedOptionError,
)
from flows.corpora.files import (
    BYTE_ORDER_MARK,
    ByteSource,
    InputFile,
    RecordFormat,
    open_bytes,
    open_seekable,
    reading,
)
from flows.corpora.layouts import RECOGNISED

BLOCK_BYTES = 32 << 20
"""Decompressed bytes read at once: large enough for bulk work, small enough for five in flight."""

FIRST_BLOCK_BYTES = 1 << 20
"""The first block, each later one twice as large: who writes has something to do at once."""

BATCH_RECORDS = 50_000

PARQUET_BATCH_ROWS = 4_096

LONGEST_LINE_BYTES = 256 << 20
"""A longer line is no record: a file without line ends must not be read into memory whole."""

SAMPLED_RECORDS = 1_000
"""Leading JSONL records whose keys count as the file's columns."""

Record = Mapping[str, Any]


@dataclass(frozen=True)
class RecordBatch:
    """Records that follow each other in one file."""

    file_name: str
    line_numbers: Sequence[int]
    """1-based line each record starts on (Parquet: row)."""
    records: Sequence[Record]
    byte_count: int
    """Bytes of the file, as it lies on disk, read for this batch."""


def read_records(
    file: InputFile, *, delimiter: str | None = None, columns: Sequence[str] | None = None
) -> Iterator[RecordBatch]:
    """Yield the records of *file* in batches, in order.

    Parameters
    ----------
    file : InputFile
        What to read; blank lines are passed over, a byte order mark is accepted.
    delimiter : str, optional
        Column delimiter of a CSV file; a comma (TSV: a tab) where not given.
    columns : sequence of str, optional
        Columns wanted; a Parquet file is read without the others.

    Raises
    ------
    UnreadableInputError
        The file is empty, cut off, or not what its name says.
    InvalidRecordError
        A line cannot be used; the sentence names it.
    """
    if file.record_format is RecordFormat.JSONL:
        batches = _jsonl_batches(file)
    elif file.record_format is RecordFormat.PARQUET:
        batches = _parquet_batches(file, columns)
    else:
        batches = _csv_batches(file, _delimiter(file, delimiter))
    has_records = False
    for batch in batches:
        has_records = has_records or bool(batch.records)
        yield batch
    if not has_records:
        raise UnreadableInputError(f"an input file must hold records, found none in {file.path}.")


def column_names(file: InputFile, delimiter: str | None = None) -> list[str]:
    """Return the columns of *file*: its header, schema, or the keys of its leading records."""
    if file.record_format is RecordFormat.PARQUET:
        with _parquet_file(file) as parquet:
            return list(parquet.schema_arrow.names)
    if file.record_format is RecordFormat.JSONL:
        names: dict[str, None] = {}
        for record in islice(_leading_records(file), SAMPLED_RECORDS):
            names.update(dict.fromkeys(record))
        if not names:
            raise UnreadableInputError(
                f"an input file must hold records, found none in {file.path}."
            )
        return list(names)
    with open_bytes(file.path) as source:
        return _csv_header(file, _csv_rows(file, _delimiter(file, delimiter), source))


def refuse_unused_delimiter(files: Sequence[InputFile], delimiter: str | None) -> None:
    """Refuse a *delimiter* that none of *files* has a use for.

    Raises
    ------
    UnusedOptionError
        No file is CSV or TSV.
    """
    delimited = {RecordFormat.CSV, RecordFormat.TSV}
    if delimiter is not None and not any(file.record_format in delimited for file in files):
        names = ", ".join(file.name for file in files[:3])
        raise UnusedOptionError(
            f"--delimiter must be left out without a CSV file, got {delimiter!r} with {names}; "
            "it would change nothing."
        )


def delimiter_hint(file: InputFile, names: Sequence[str]) -> str:
    """Return what a header of one column suggests about the delimiter, or nothing."""
    if file.record_format not in {RecordFormat.CSV, RecordFormat.TSV} or len(names) != 1:
        return ""
    for mark, shown in ((";", "';'"), ("\t", "'\\t'"), ("|", "'|'"), (",", "','")):
        if mark in names[0]:
            return f" The header looks delimited by {shown}: give --delimiter {shown}."
    return ""


def _leading_records(file: InputFile) -> Iterator[Record]:
    with open_bytes(file.path) as source:
        for lines, first, _ in _line_blocks(file, source, 1 << 20):
            yield from _parsed(file, lines, first)[1]


def _jsonl_batches(file: InputFile) -> Iterator[RecordBatch]:
    sampled: set[str] = set()
    record_count = 0
    with open_bytes(file.path) as source:
        for lines, first, byte_count in _line_blocks(file, source, BLOCK_BYTES):
            for start in range(0, len(lines), BATCH_RECORDS):
                part = lines[start : start + BATCH_RECORDS]
                numbers, records = _parsed(file, part, first + start)
                if records:
                    sampled.update(*records[: max(SAMPLED_RECORDS - record_count, 0)])
                    record_count += len(records)
                    _refuse_late_columns(file, sampled, numbers, records)
                    yield RecordBatch(file.name, numbers, records, byte_count if start == 0 else 0)


def _refuse_late_columns(
    file: InputFile, sampled: set[str], numbers: Sequence[int], records: Sequence[Record]
) -> None:
    """Refuse a column with a known name that no leading record has: it would not be read."""
    late = {name for name in set().union(*records) - sampled if name.strip().lower() in RECOGNISED}
    for number, record in zip(numbers, records, strict=True) if late else ():
        for name in record:
            if name in late:
                raise InvalidRecordError(
                    f"a column must appear within the first {SAMPLED_RECORDS:,} records, {name!r} "
                    f"comes first on line {number} of {file.path}; give it to the first record "
                    "too, as null where it has none."
                )


def _line_blocks(
    file: InputFile, source: ByteSource, block_bytes: int
) -> Iterator[tuple[list[bytes], int, int]]:
    """Yield whole lines, the number of the first, and the bytes of the file read for them.

    The first blocks are smaller than *block_bytes*, see `FIRST_BLOCK_BYTES`.
    """
    rest = source.read(len(BYTE_ORDER_MARK))
    rest = b"" if rest == BYTE_ORDER_MARK else rest
    line_number, position = 1, 0
    pieces, size = [rest], FIRST_BLOCK_BYTES
    while True:
        block = source.read(min(size, block_bytes))
        size *= 2
        if block and b"\n" not in block:
            pieces.append(block)
            if sum(map(len, pieces)) > LONGEST_LINE_BYTES:
                raise InvalidRecordError(
                    f"a line must have at most {LONGEST_LINE_BYTES:,} bytes, line {line_number} "
                    f"of {file.path} has more; records are separated by line ends."
                )
            continue
        # Not the whole block joined, which copies it; split again, since the first three bytes of
        # the file may hold line ends.
        lines = block.split(b"\n")
        lines[:1] = b"".join((*pieces, lines[0])).split(b"\n")
        pieces = [lines.pop()] if block or not lines[-1] else []
        before, position = position, source.position()
        if lines:
            yield lines, line_number, position - before
        line_number += len(lines)
        if not block:
            return


def _parsed(
    file: InputFile, lines: Sequence[bytes], first: int
) -> tuple[Sequence[int], list[Record]]:
    try:
        records = list(map(orjson.loads, lines))
        if set(map(type, records)) <= {dict}:
            return range(first, first + len(lines)), records
    except orjson.JSONDecodeError:
        pass  # a blank or a bad line: found one by one below
    numbers: list[int] = []
    records = []
    for number, line in enumerate(lines, first):
        if line.strip():
            records.append(_parsed_line(file, line, number))
            numbers.append(number)
    return numbers, records


def _parsed_line(file: InputFile, line: bytes, number: int) -> Record:
    _decoded(file, line, number)
    try:
        record = orjson.loads(line)
    except orjson.JSONDecodeError as error:
        raise InvalidRecordError(
            f"every line must be one JSON object, line {number} of {file.path} is not JSON: "
            f"{error.msg} at column {error.colno}."
        ) from None
    if not isinstance(record, dict):
        raise InvalidRecordError(
            f"every line must be one JSON object, line {number} of {file.path} is "
            f"{_json_kind(record)}; write one object per line."
        )
    return record


def _json_kind(value: object) -> str:
    if value is None:
        return "null"
    names: dict[type, str] = {list: "an array", str: "a string", bool: "a boolean"}
    return names.get(type(value), "a number")


def _decoded(file: InputFile, line: bytes, number: int) -> str:
    if b"\0" in line:
        raise InvalidRecordError(
            f"text must hold no NUL byte, line {number} of {file.path} has one; "
            "the file may be UTF-16 or binary: convert it to UTF-8."
        )
    try:
        return line.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InvalidRecordError(
            f"text must be UTF-8, line {number} of {file.path} has byte "
            f"0x{line[error.start]:02x} at position {error.start + 1}; convert the file to UTF-8."
        ) from None


def _delimiter(file: InputFile, given: str | None) -> str:
    if given is None:
        return "\t" if file.record_format is RecordFormat.TSV else ","
    delimiter = {"\\t": "\t", "tab": "\t"}.get(given, given)
    if len(delimiter) != 1 or delimiter in '\r\n"':
        raise UnreadableInputError(
            f"a delimiter must be one character other than a quote or line end, got {given!r}."
        )
    return delimiter


def decoded_lines(file: InputFile, source: ByteSource) -> Iterator[str]:
    """Yield the lines of a UTF-8 text file, each ending in a line feed."""
    for lines, first, _ in _line_blocks(file, source, 1 << 20):
        for number, line in enumerate(lines, first):
            yield _decoded(file, line, number) + "\n"


def _csv_rows(
    file: InputFile, delimiter: str, source: ByteSource
) -> Iterator[tuple[int, list[str]]]:
    """Yield the rows of a CSV file, the header first, with the line each starts on."""
    csv.field_size_limit(LONGEST_LINE_BYTES)
    reader = csv.reader(decoded_lines(file, source), delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        try:
            row = next(reader)
        except StopIteration:
            return
        except csv.Error as error:
            raise InvalidRecordError(
                f"the file must be valid CSV, the row on line {number} of {file.path} is not: "
                f"{error}; a quote inside a quoted field is written twice."
            ) from None
        if row:
            yield number, row


def _csv_header(file: InputFile, rows: Iterator[tuple[int, list[str]]]) -> list[str]:
    _, header = next(rows, (0, []))
    if not header:
        raise UnreadableInputError(f"an input file must hold records, found none in {file.path}.")
    twice = sorted({name for name in header if header.count(name) > 1})
    if twice:
        raise MissingColumnError(
            f"every column must have a name of its own, got {twice[0]!r} twice in the header "
            f"of {file.path}; rename one."
        )
    return header


def _csv_batches(file: InputFile, delimiter: str) -> Iterator[RecordBatch]:
    with open_bytes(file.path) as source:
        rows = _csv_rows(file, delimiter, source)
        header = _csv_header(file, rows)
        numbers: list[int] = []
        records: list[Record] = []
        size = position = 0
        for number, row in rows:
            if len(row) != len(header):
                raise _width_error(file, number, len(row), len(header))
            numbers.append(number)
            records.append(dict(zip(header, row, strict=True)))
            size += sum(map(len, row))
            if size >= BLOCK_BYTES or len(records) >= BATCH_RECORDS:
                before, position = position, source.position()
                yield RecordBatch(file.name, numbers, records, position - before)
                numbers, records, size = [], [], 0
        if records:
            yield RecordBatch(file.name, numbers, records, source.position() - position)


def _width_error(file: InputFile, number: int, found: int, width: int) -> InvalidRecordError:
    return InvalidRecordError(
        f"every row must have the {width} fields of the header, the row on line {number} of "
        f"{file.path} has {found}; quote fields that hold the delimiter."
    )


@contextlib.contextmanager
def _parquet_file(file: InputFile) -> Iterator[pq.ParquetFile]:
    with open_seekable(file.path) as source, reading(file.path):
        try:
            parquet = pq.ParquetFile(source)
        except pa.ArrowInvalid as error:
            raise UnreadableInputError(
                f"a Parquet file must be whole, {file.path} is none: {' '.join(str(error).split())}"
            ) from None
        try:
            yield parquet
        finally:
            parquet.close()


def _parquet_batches(file: InputFile, columns: Sequence[str] | None) -> Iterator[RecordBatch]:
    size = file.path.stat().st_size
    with _parquet_file(file) as parquet:
        known = set(parquet.schema_arrow.names)
        wanted = None if columns is None else [name for name in columns if name in known]
        row_count, first = max(parquet.metadata.num_rows, 1), 1
        for batch in parquet.iter_batches(PARQUET_BATCH_ROWS, columns=wanted):
            numbers = range(first, first + batch.num_rows)
            before = size * (first - 1) // row_count
            first += batch.num_rows
            yield RecordBatch(
                file.name,
                numbers,
                batch.to_pylist(),
                size * (first - 1) // row_count - before,
            )
