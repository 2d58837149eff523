"""Values of single columns of a record batch, checked: text, ids, numbers, with their place."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from flows.corpora.errors import InvalidRecordError
from flows.corpora.records import RecordBatch

SMALLEST_BIGINT, LARGEST_BIGINT = -(1 << 63), (1 << 63) - 1


def column_values(batch: RecordBatch, column: str) -> list[Any]:
    """Return the values of *column*; a record without it is an error, a null is not.

    Raises
    ------
    InvalidRecordError
        A record has no such key; the sentence names its line.
    """
    try:
        return [record[column] for record in batch.records]
    except KeyError:
        index = next(i for i, record in enumerate(batch.records) if column not in record)
        found = ", ".join(list(batch.records[index])[:20]) or "none"
        raise InvalidRecordError(
            f"every record must have column {column!r}, {place(batch, index)} has only {found}."
        ) from None


def optional_values(batch: RecordBatch, column: str | None) -> list[Any]:
    """Return the values of *column*, None where it is absent."""
    if column is None:
        return [None] * len(batch.records)
    return [record.get(column) for record in batch.records]


def texts(batch: RecordBatch, column: str) -> list[str | None]:
    """Return the texts of *column*, None for a null.

    Raises
    ------
    InvalidRecordError
        A value is neither text nor null, or holds a NUL character.
    """
    values = column_values(batch, column)
    if not set(map(type, values)) <= {str, type(None)}:
        index = next(i for i, value in enumerate(values) if not isinstance(value, str | None))
        raise _wrong(batch, index, column, "text", values[index])
    _refuse_nul(batch, column, values)
    return values


def ids(batch: RecordBatch, column: str) -> list[str | None]:
    """Return ids as text: text stays, a whole number is written out; None for a null or blank."""
    values = column_values(batch, column)
    if set(map(type, values)) == {int}:  # a third of the time that one by one takes
        return list(map(str, values))
    found: list[str | None] = []
    for index, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, str | int | None):
            raise _wrong(batch, index, column, "text or a whole number", value)
        found.append(None if value is None or value == "" else str(value))
    _refuse_nul(batch, column, found)
    return found


def names(batch: RecordBatch, column: str | None) -> list[str | None]:
    """Return optional labels as text; None for a null, a blank or an absent column."""
    found: list[str | None] = []
    for index, value in enumerate(optional_values(batch, column)):
        if isinstance(value, bool) or not isinstance(value, str | int | float | None):
            raise _wrong(batch, index, column or "", "text", value)
        found.append(None if value is None or value == "" else str(value))
    _refuse_nul(batch, column, found)
    return found


def strategy_names(batch: RecordBatch, column: str | None) -> list[str | None]:
    """Return names of decoding strategies: `names` without a slash.

    A story source is called LANGUAGE MODEL/DECODING STRATEGY, and language models have slashes of
    their own: ``a/b`` with ``c`` must not be called like ``a`` with ``b/c``.
    """
    found = names(batch, column)
    for index, name in enumerate(found):
        if name is not None and "/" in name:
            raise _wrong(batch, index, column or "", "names without a slash", name)
    return found


def integers(
    batch: RecordBatch, column: str | None, *, minimum: int = SMALLEST_BIGINT, maximum: int
) -> list[int | None]:
    """Return optional whole numbers within the limits; None for a null or blank."""
    return [
        None
        if value is None or value == ""
        else _integer(batch, index, column, value, minimum, maximum)
        for index, value in enumerate(optional_values(batch, column))
    ]


def numbers(batch: RecordBatch, column: str | None, *, minimum: float) -> list[float | None]:
    """Return optional finite numbers of at least *minimum*; None for a null or blank."""
    found: list[float | None] = []
    for index, value in enumerate(optional_values(batch, column)):
        if value is None or value == "":
            found.append(None)
            continue
        number = number_in(value)
        if number is None or not math.isfinite(number) or number < minimum:
            raise _wrong(batch, index, column or "", f"a number of at least {minimum:g}", value)
        found.append(number)
    return found


def _refuse_nul(batch: RecordBatch, column: str | None, found: Sequence[str | None]) -> None:
    if any("\0" in value for value in found if value):
        index = next(i for i, value in enumerate(found) if value and "\0" in value)
        raise InvalidRecordError(
            f"column {column!r} must hold no NUL character, {place(batch, index)} has one; "
            "remove it."
        )


def place(batch: RecordBatch, index: int) -> str:
    """Return where the record at *index* starts, for a sentence."""
    return f"line {batch.line_numbers[index]} of {batch.file_name}"


def _integer(
    batch: RecordBatch, index: int, column: str | None, value: Any, minimum: int, maximum: int
) -> int:
    number = number_in(value)
    try:
        whole = int(value) if number is not None and number == int(number) else None
    except (ValueError, OverflowError):
        whole = int(number) if number is not None and number.is_integer() else None
    if isinstance(value, bool) or whole is None or not minimum <= whole <= maximum:
        kind = "a whole number"
        if minimum > SMALLEST_BIGINT:
            kind += f" from {minimum} to {maximum:,}"
        raise _wrong(batch, index, column or "", kind, value)
    return whole


def number_in(value: Any) -> float | None:
    """Return the number that *value* is or writes out in plain digits, else None."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    # Python reads "1_0" and the digits of every script; in a data file they are slips.
    if isinstance(value, str) and ("_" in value or not value.isascii()):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _wrong(
    batch: RecordBatch, index: int, column: str, kind: str, value: object
) -> InvalidRecordError:
    shown = repr(value)
    shown = shown if len(shown) <= 60 else shown[:59] + "…"
    return InvalidRecordError(
        f"column {column!r} must hold {kind}, got {shown} on {place(batch, index)}."
    )


def joined_names(parts: Sequence[Sequence[str | None]]) -> list[str | None]:
    """Return the values of several columns joined by hyphens; None where one of them is."""
    return [
        None if any(part is None for part in row) else "-".join(part for part in row if part)
        for row in zip(*parts, strict=True)
    ]
