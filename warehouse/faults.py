"""DuckDB's and the system's faults on a warehouse file, each as one sentence with the remedy."""

from __future__ import annotations

import contextlib
import errno
import re
from collections.abc import Iterator
from pathlib import Path

import duckdb
import psutil

from warehouse.errors import (
    DiskFullError,
    WarehouseDamagedError,
    WarehouseError,
    WarehouseLockedError,
)

_LOCKED = re.compile(r'Could not set lock on file "([^"]*)"')
_LOCK_HOLDER = re.compile(r"\(PID (\d+)\)")
_OTHER_MODE = ("different configuration than existing connections", "Unique file handle conflict")
_DISK_FULL = ("No space left on device", "File too large", "Disk quota exceeded")
_DISK_FULL_CODES = frozenset({errno.ENOSPC, errno.EFBIG, errno.EDQUOT})
_DAMAGED = ("Corrupt database file", "Could not read enough bytes", "not a valid DuckDB database")

LONGEST_COMMAND = 160


@contextlib.contextmanager
def translated(path: Path, *, is_opening: bool = False) -> Iterator[None]:
    """Raise faults met on the file at *path* as one sentence each; let all others through.

    While the file is being opened (*is_opening*) every fault is the file's. Later a fault may
    belong to something else, such as an input that is being read, and only what is surely the
    file's is translated.

    Raises
    ------
    WarehouseLockedError, WarehouseDamagedError, DiskFullError, WarehouseError
        Each says what was found and what to do.
    KeyboardInterrupt
        For DuckDB's own word for Ctrl-C during a query, a ``RuntimeError``.
    """
    try:
        yield
    except (duckdb.Error, RuntimeError, OSError) as error:
        translation = _translation(error, path, is_opening=is_opening)
        if translation is None:
            raise
        raise translation from None


def _translation(error: Exception, path: Path, *, is_opening: bool) -> BaseException | None:
    message = " ".join(str(error).split())
    if isinstance(error, duckdb.InterruptException) or (
        isinstance(error, RuntimeError) and "Query interrupted" in message
    ):
        return KeyboardInterrupt()
    if isinstance(error, OSError):
        is_full = error.errno in _DISK_FULL_CODES
    else:
        is_full = isinstance(error, duckdb.Error) and any(text in message for text in _DISK_FULL)
    if is_full:
        return DiskFullError(
            f"the disk must have room for {path}, and it is full; free some space and run the "
            "same command again: what was finished before is kept."
        )
    if isinstance(error, duckdb.Error):
        return _duckdb_translation(message, path, is_opening=is_opening)
    if isinstance(error, OSError) and is_opening:
        return WarehouseError(f"{path} must be accessible, got: {message}; check its folder.")
    return None


def _duckdb_translation(message: str, path: Path, *, is_opening: bool) -> WarehouseError | None:
    locked = _LOCKED.search(message)
    if locked:
        return WarehouseLockedError(
            f"one process at a time may use {locked.group(1)}, and {_holder(message)} has it; "
            "wait for it to end and run again, or use `calibrary query`, which reads the "
            "published snapshot."
        )
    if any(text in message for text in _OTHER_MODE):
        return WarehouseLockedError(
            f"a process may open {path} in one mode at a time, and this one has it open in "
            "another; close that connection first."
        )
    if is_opening or any(text in message for text in _DAMAGED):
        return WarehouseDamagedError(
            f"{path} must be a whole warehouse file, got: {message}; nothing was deleted: move it "
            "away and run again, or put a copy in its place."
        )
    return None


def _holder(message: str) -> str:
    found = _LOCK_HOLDER.search(message)
    if found is None:
        return "another process"
    pid = int(found.group(1))
    try:
        command = " ".join(" ".join(psutil.Process(pid).cmdline()).split())
    except psutil.Error:
        return f"process {pid}"
    return f"process {pid} ({command[:LONGEST_COMMAND]})"
