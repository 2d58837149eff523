"""Batches on their way into the warehouse: prepared, their texts written, then all else."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Iterator
from typing import Protocol, TypeVar

import duckdb
import pyarrow as pa

from flows.run_ahead import run_ahead
from warehouse.schema import texts
from warehouse.writers import upsert


class _WithTexts(Protocol):
    @property
    def texts(self) -> pa.Table:
        """Rows of ``raw.texts``."""


Batch = TypeVar("Batch", bound=_WithTexts)


@contextlib.contextmanager
def texts_written(
    connection: duckdb.DuckDBPyConnection, batches: Generator[Batch, None, None]
) -> Iterator[Iterator[Batch]]:
    """Give *batches* in order, each once its texts are in the warehouse.

    One thread prepares a batch while a second writes the texts of the one before and the caller
    the rest of the one before that: of the time that writing takes, texts are the larger half.
    No story is written before its text.
    """
    with (
        run_ahead(batches, "prepare") as prepared,
        run_ahead(_texts_first(connection, prepared), "write-texts") as written,
    ):
        yield written


def _texts_first(
    connection: duckdb.DuckDBPyConnection, batches: Iterator[Batch]
) -> Generator[Batch, None, None]:
    with connection.cursor() as cursor:  # a connection of its own to the same open file
        for batch in batches:
            upsert(cursor, texts, batch.texts)
            yield batch
