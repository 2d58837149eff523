"""Records of a Hugging Face data set, streamed: never downloaded whole, no remote code run."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from flows.corpora.errors import UnreadableInputError
from flows.corpora.files import content_sha256
from flows.corpora.layouts import HUB_PREFIX
from flows.corpora.records import PARQUET_BATCH_ROWS, RecordBatch

DEFAULT_SPLIT = "train"
REACH_SECONDS = 10.0


def dataset_id(path: str) -> str | None:
    """Return the data set that ``hf:owner/name`` names, None where *path* names a file."""
    return path.removeprefix(HUB_PREFIX) if path.startswith(HUB_PREFIX) else None


class HuggingFaceDataset:
    """One split of a data set, by hub id or local folder.

    Raises
    ------
    UnreadableInputError
        The data set does not exist or cannot be reached, or has no such split.
    """

    def __init__(self, name: str, split: str | None = None) -> None:
        self.name = name
        self.split = split or DEFAULT_SPLIT
        builder = _builder(name)
        self._files: list[str] = list((builder.config.data_files or {}).get(self.split, []))
        self._dataset = _streamed(builder, name, self.split)

    def column_names(self) -> list[str]:
        """Return the columns, from the data set's card or its first record."""
        if self._dataset.column_names:
            return list(self._dataset.column_names)
        first = next(iter(self._dataset), None)
        if first is None:
            raise _no_records(self.name, self.split)
        return list(first)

    def content_sha256(self) -> str:
        """Return the SHA-256 of what identifies the data: its files.

        A file on the hub is named with its commit, a local one is read.
        """
        local = [Path(file) for file in self._files if Path(file).is_file()]
        remote = [file for file in self._files if not Path(file).is_file()]
        parts = [self.split, *remote, *([content_sha256(local)] if local else [])]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def read(self, columns: list[str]) -> Iterator[RecordBatch]:
        """Yield the records with *columns*; the line number is the 1-based row of the split."""
        chosen = self._dataset.select_columns(columns)
        first = 1
        try:
            for batch in chosen.iter(batch_size=PARQUET_BATCH_ROWS):
                rows = list(zip(*(batch[column] for column in columns), strict=True))
                records = [dict(zip(columns, row, strict=True)) for row in rows]
                numbers = range(first, first + len(records))
                first += len(records)
                size = sum(len(value) for row in rows for value in row if isinstance(value, str))
                yield RecordBatch(self.name, numbers, records, size)
        except (OSError, ConnectionError) as error:
            raise _unreachable(self.name, error) from None
        if first == 1:
            raise _no_records(self.name, self.split)


def _builder(name: str) -> Any:
    import datasets
    from huggingface_hub import HfApi

    datasets.disable_progress_bars()
    for logger in ("datasets", "huggingface_hub"):
        logging.getLogger(logger).setLevel(logging.ERROR)
    try:
        if not Path(name).exists():
            # Asked first and once: loading an unreachable data set retries for half a minute.
            HfApi().dataset_info(name, timeout=REACH_SECONDS)
        return datasets.load_dataset_builder(name)
    except Exception as error:  # noqa: BLE001 - each transport raises its own, and none narrower
        raise _unreachable(name, error) from None


def _streamed(builder: Any, name: str, split: str) -> Any:
    try:
        return builder.as_streaming_dataset(split=split)
    except (ValueError, KeyError) as error:
        raise UnreadableInputError(
            f"a data set must have the split asked for, {name} has no {split!r}: "
            f"{' '.join(str(error).split())}; choose one with --split."
        ) from None


def _no_records(name: str, split: str) -> UnreadableInputError:
    return UnreadableInputError(
        f"a data set must hold records, found none in {name}, split {split}."
    )


def _unreachable(name: str, error: Exception) -> UnreadableInputError:
    message = " ".join(str(error).split())
    return UnreadableInputError(
        f"an input must be a file, a folder or a Hugging Face data set that can be reached, and "
        f"{name} is none: {message[:200]}; check the name, and the network for a data set."
    )
