"""Forecasts made elsewhere: (label, top label, confidence) rows, or rows of probabilities.

Nothing is repaired. A row that is no forecast is handed on as it is, to be counted as a reject; a
file that holds no forecasts at all (logits, two matrices) is refused whole.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from flows.corpora import values
from flows.corpora.errors import InvalidForecastError, MissingColumnError, UnusedOptionError
from flows.corpora.files import InputFile, content_sha256, find_files, reading
from flows.corpora.layouts import ForecastsLayout, Place, find_column
from flows.corpora.records import RecordBatch, column_names, delimiter_hint, read_records

SOFTMAX_SUFFIX = ".npz"

BATCH_ELEMENTS = 1 << 22
"""Probabilities handed on at once: 32 MB in double precision."""

SUM_TOLERANCE = 1e-2
"""How far a row may sum from 1: half precision passes, logits do not."""


@dataclass(frozen=True)
class ForecastBatch:
    """Forecasts that follow each other in one file: either of the two kinds.

    Attributes
    ----------
    file_name : str
    line_numbers : sequence of int
        Line or row each starts on, from 1.
    outcome_labels : sequence of str or None
        What came.
    top_labels, confidence : sequence, or None
        The likeliest label and its probability, NaN where it is no number; None for softmax rows.
    probabilities : ndarray of float64, shape (rows, V), or None
        All probabilities; labels are then the numbers of columns, from 0.
    byte_count : int
        Bytes of the file read for this batch.
    """

    file_name: str
    line_numbers: Sequence[int]
    outcome_labels: Sequence[str | None]
    top_labels: Sequence[str | None] | None
    confidence: NDArray[np.float64] | None
    probabilities: NDArray[np.float64] | None
    byte_count: int


@dataclass(frozen=True)
class ForecastInput:
    """Everything behind one layout."""

    file_names: tuple[str, ...]
    content_sha256: str
    byte_count: int
    read_forecasts: Callable[[], Iterator[ForecastBatch]]
    notes: tuple[str, ...] = ()


def open_forecasts(layout: ForecastsLayout) -> ForecastInput:
    """Find what *layout* names, map its columns and fingerprint its bytes.

    Raises
    ------
    UnreadableInputError
        A file is absent or not readable.
    MissingColumnError
        A column is missing; the sentence says what was found.
    UnusedOptionError
        A column is named for an ``.npz`` file, which has none.
    """
    path = Path(layout.path).expanduser()
    if path.suffix.lower() == SOFTMAX_SUFFIX:
        return _open_softmax(path, layout)
    found = find_files(path, layout.record_format)
    readers = [partial(_record_batches, file, layout) for file in found.files]
    for file in found.files:
        _columns(file, layout)
    skipped = ", ".join(found.skipped_names)
    paths = [file.path for file in found.files]
    return ForecastInput(
        tuple(file.name for file in found.files),
        content_sha256(paths),
        sum(each.stat().st_size for each in paths),
        lambda: (batch for read in readers for batch in read()),
        (f"not read, since their format is not known: {skipped}",) if skipped else (),
    )


@dataclass(frozen=True)
class _Columns:
    true_label: str
    pred_label: str | None
    confidence: str | None
    probabilities: str | None

    def wanted(self) -> list[str]:
        names = (self.true_label, self.pred_label, self.confidence, self.probabilities)
        return [name for name in names if name is not None]


def _columns(file: InputFile, layout: ForecastsLayout) -> _Columns:
    names = column_names(file, layout.delimiter)
    place = Place(str(file.path), delimiter_hint(file, names))

    def find(field: str, given: str | None, *, is_needed: bool) -> str | None:
        return find_column(field, names, given, place, is_needed=is_needed)

    true_label = find("true_label", layout.true_label_column, is_needed=True)
    probabilities = find("probabilities", layout.probabilities_column, is_needed=False)
    is_needed = probabilities is None
    return _Columns(
        str(true_label),
        find("pred_label", layout.pred_label_column, is_needed=is_needed),
        find("confidence", layout.confidence_column, is_needed=is_needed),
        probabilities,
    )


def _record_batches(file: InputFile, layout: ForecastsLayout) -> Iterator[ForecastBatch]:
    columns = _columns(file, layout)
    for batch in read_records(file, delimiter=layout.delimiter, columns=columns.wanted()):
        outcomes = values.names(batch, columns.true_label)
        if columns.probabilities is not None:
            top_labels, confidence = None, None
            rows = _probability_lists(batch, columns.probabilities)
        else:
            rows = None
            top_labels = values.names(batch, columns.pred_label)
            confidence = _confidences(batch, str(columns.confidence))
            _refuse_unlike_labels(batch, outcomes, top_labels)
        yield ForecastBatch(
            batch.file_name,
            batch.line_numbers,
            outcomes,
            top_labels,
            confidence,
            rows,
            batch.byte_count,
        )


def _refuse_unlike_labels(
    batch: RecordBatch, outcomes: Sequence[str | None], top_labels: Sequence[str | None]
) -> None:
    """Refuse labels that one column writes 1 and the other 1.0: every hit would be a miss."""
    for index, pair in enumerate(zip(outcomes, top_labels, strict=True)):
        own, top = pair
        if own is None or top is None or own == top or _meaning(own) != _meaning(top):
            continue
        raise InvalidForecastError(
            f"labels must be written alike in both columns, got {own!r} and {top!r} on "
            f"{values.place(batch, index)}; whole numbers become 1.0 where a column has gaps."
        )


def _meaning(label: str) -> str | float:
    try:
        return float(label)
    except ValueError:
        return label.strip()


def _confidences(batch: RecordBatch, column: str) -> NDArray[np.float64]:
    """Return the numbers of *column*, NaN where there is none: that row will be rejected."""
    found = np.full(len(batch.records), np.nan)
    for index, value in enumerate(values.column_values(batch, column)):
        if isinstance(value, str | int | float) and not isinstance(value, bool):
            try:
                found[index] = float(value)
            except (ValueError, OverflowError):
                continue
    return found


def _probability_lists(batch: RecordBatch, column: str) -> NDArray[np.float64]:
    try:
        rows = np.array(values.column_values(batch, column), dtype=np.float64)
    except (TypeError, ValueError):
        rows = np.empty(0)
    if rows.ndim != 2:
        raise MissingColumnError(
            f"column {column!r} must hold lists of numbers of one length, got others from "
            f"{values.place(batch, 0)} on; name a column of confidences with --confidence-column."
        )
    _refuse_logits(rows, batch.file_name)
    return rows


def _open_softmax(path: Path, layout: ForecastsLayout) -> ForecastInput:
    for name in ("true_label", "pred_label", "confidence", "probabilities"):
        if getattr(layout, f"{name}_column") is not None:
            raise UnusedOptionError(
                f"--{name.replace('_', '-')}-column must be left out for {path}: an .npz file has "
                "arrays and no columns."
            )
    sha256 = content_sha256([path])
    return ForecastInput((path.name,), sha256, path.stat().st_size, partial(_softmax_batches, path))


def _softmax_batches(path: Path) -> Iterator[ForecastBatch]:
    matrix, labels = _softmax_arrays(path)
    step = max(1, BATCH_ELEMENTS // matrix.shape[1])
    byte_count = path.stat().st_size
    for start in range(0, len(matrix), step):
        rows = matrix[start : start + step].astype(np.float64)
        _refuse_logits(rows, path.name)
        yield ForecastBatch(
            path.name,
            range(start + 1, start + len(rows) + 1),
            [str(label) for label in labels[start : start + step].tolist()],
            None,
            None,
            rows,
            byte_count if start == 0 else 0,
        )


def _softmax_arrays(path: Path) -> tuple[NDArray[np.floating], NDArray[np.integer]]:
    """Return the one matrix of numbers and the one list of whole numbers in the file."""
    try:
        with reading(path), np.load(path, allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
    except (ValueError, EOFError, zipfile.BadZipFile) as error:  # EOFError: an empty file
        raise InvalidForecastError(
            f"an .npz file must hold plain arrays, and {path} does not: "
            f"{' '.join(str(error).split())}."
        ) from None
    matrices = [
        each
        for each in arrays.values()
        if each.ndim == 2 and each.shape[1] and each.dtype.kind == "f"
    ]
    lists = [
        each.ravel()
        for each in arrays.values()
        if each.ndim and each.size == len(each) and each.dtype.kind in "iu"
    ]
    if len(matrices) != 1 or len(lists) != 1 or len(matrices[0]) != len(lists[0]):
        shown = ", ".join(f"{name} {each.dtype} {each.shape}" for name, each in arrays.items())
        raise InvalidForecastError(
            "an .npz file must hold one matrix of probabilities and one label for each of its "
            f"rows, found {shown} in {path}; save those two alone."
        )
    return matrices[0], lists[0]


def _refuse_logits(rows: NDArray[np.float64], file_name: str) -> None:
    """Refuse rows of finite numbers that are no distribution: most likely logits."""
    finite = np.isfinite(rows).all(axis=1)
    wrong = finite & ((rows < 0.0).any(axis=1) | (np.abs(rows.sum(axis=1) - 1.0) > SUM_TOLERANCE))
    if wrong.any():
        place = int(np.flatnonzero(wrong)[0])
        raise InvalidForecastError(
            "a row of probabilities must be at least 0 and sum to 1, got smallest "
            f"{rows[place].min():g} and sum {rows[place].sum():g} in {file_name}; if these are "
            "logits, save their softmax."
        )
