"""Open the work file and the published snapshot; turn DuckDB's faults into sentences.

The work file is written by one process at a time. A new file is made under another name and
renamed when it is whole, since a file whose creation was interrupted never opens again.
"""

from __future__ import annotations

import contextlib
import os
import re
import uuid
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psutil

from warehouse.errors import (
    DiskFullError,
    WarehouseDamagedError,
    WarehouseError,
    WarehouseLockedError,
    WarehouseMissingError,
)
from warehouse.migrations import create_tables, migrate

WORK_FILE_NAME = "work.duckdb"
SNAPSHOT_FILE_NAME = "calibrary.duckdb"

SMALLEST_WHOLE_FILE = 12_288
"""Bytes of an empty DuckDB file: its three headers. Anything shorter was never finished."""

_LOCK_HOLDER = re.compile(r"\(PID (\d+)\)")


def work_path(home: Path) -> Path:
    """Return the file that flows and dbt write."""
    return home / WORK_FILE_NAME


def snapshot_path(home: Path) -> Path:
    """Return the published file that readers open."""
    return home / SNAPSHOT_FILE_NAME


@contextlib.contextmanager
def open_warehouse(
    path: Path, *, read_only: bool = False, memory_limit: str | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the work file at *path*, made or migrated first where needed; checkpoint on leaving.

    Raises
    ------
    WarehouseLockedError, WarehouseNewerError, WarehouseDamagedError, DiskFullError
        Each says who, what and the remedy.
    """
    if read_only:
        if is_absent(path):
            raise WarehouseMissingError(f"a work file must exist, found none at {path}.")
    else:
        _prepare(path)
    with _translated(path):
        connection = duckdb.connect(path, read_only=read_only)
        try:
            connection.execute("set timezone = 'UTC'")
            if memory_limit is not None:
                connection.execute("set memory_limit = $limit", {"limit": memory_limit})
            yield connection
            # A full disk at the checkpoint inside close() gives no error; here it does.
            if not read_only:
                connection.execute("checkpoint")
        finally:
            connection.close()


@contextlib.contextmanager
def open_snapshot(home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the published snapshot of *home*, read-only; a build never blocks it.

    Raises
    ------
    WarehouseMissingError
        Nothing has been published yet.
    """
    path = snapshot_path(home)
    if not path.exists():
        raise WarehouseMissingError(
            f"a published snapshot must exist, found none at {path}; run `calibrary run` or "
            "`calibrary build` first, or name another home with --home."
        )
    with _translated(path):
        connection = duckdb.connect(path, read_only=True)
        try:
            yield connection
        finally:
            connection.close()


def checkpoint(connection: duckdb.DuckDBPyConnection) -> None:
    """Write everything committed into the file itself: the end of a stage or a migration."""
    connection.execute("checkpoint")


def is_absent(path: Path) -> bool:
    """Say whether no warehouse was ever finished at *path*."""
    if not path.exists():
        return True
    has_log = path.with_name(path.name + ".wal").exists()
    return path.stat().st_size < SMALLEST_WHOLE_FILE and not has_log


def sync_folder(folder: Path) -> None:
    """Make a rename in *folder* durable."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _prepare(path: Path) -> None:
    if not is_absent(path):
        with _translated(path):
            migrate(path)
        return
    with _translated(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        aside = path.with_name(f"{path.name}.new-{uuid.uuid4().hex[:8]}")
        try:
            create_tables(aside)
            aside.replace(path)
            sync_folder(path.parent)
        finally:
            aside.unlink(missing_ok=True)


@contextlib.contextmanager
def _translated(path: Path) -> Iterator[None]:
    """Raise DuckDB's and the system's faults on *path* as one sentence each."""
    try:
        yield
    except (duckdb.Error, RuntimeError, OSError) as error:
        raise translate(error, path) from None


def translate(error: Exception, path: Path) -> BaseException:
    """Return the exception to raise for *error*, met while working on *path*."""
    message = " ".join(str(error).split())
    if isinstance(error, RuntimeError) and "Query interrupted" in message:
        return KeyboardInterrupt()
    if isinstance(error, duckdb.InterruptException):
        return KeyboardInterrupt()
    if "Could not set lock on file" in message:
        return WarehouseLockedError(
            f"one process at a time may write {path}, and {_holder(message)} holds it; wait for "
            "it to end, or use `calibrary query`, which reads the published snapshot."
        )
    if "different configuration than existing connections" in message:
        return WarehouseLockedError(
            f"this process already has {path} open in another mode; close that connection first."
        )
    if "No space left on device" in message or "File too large" in message:
        return DiskFullError(
            f"the disk must have room for {path}, and it is full; free some space and run the "
            "same command again: what was committed is kept."
        )
    if isinstance(error, duckdb.IOException | duckdb.SerializationException) or (
        "not a valid DuckDB database file" in message
    ):
        return WarehouseDamagedError(
            f"{path} must be a readable warehouse file: {message}; move it away (nothing is "
            "deleted for you) and run again, or restore a copy."
        )
    if isinstance(error, OSError):
        return WarehouseError(f"{path} must be accessible: {message}.")
    return error


def _holder(message: str) -> str:
    found = _LOCK_HOLDER.search(message)
    if found is None:
        return "another process"
    pid = int(found.group(1))
    try:
        command = " ".join(psutil.Process(pid).cmdline())
    except psutil.Error:
        return f"process {pid}"
    return f"process {pid} ({command[:160]})"
