"""Open the work file and the published snapshot.

The work file is written by one process at a time. A new file is made under another name and takes
its own when it is whole, since a file whose creation was interrupted never opens again. DuckDB
keeps ``preserve_insertion_order`` on: batches are small, and rows stay in the order they came.

A snapshot is opened, read and closed: a process that keeps a connection to it gets the same old
file at every further opening, even after a new one has been published.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path

import duckdb

from warehouse.errors import WarehouseDamagedError, WarehouseError, WarehouseMissingError
from warehouse.faults import translated
from warehouse.files import (
    SMALLEST_WHOLE_FILE,
    aside_path,
    connect,
    is_absent,
    log_path,
    remove_leftovers,
    snapshot_path,
    sync,
    work_path,
)
from warehouse.migrations import create_tables, is_current, migrate

__all__ = [
    "checkpoint",
    "is_absent",
    "open_snapshot",
    "open_warehouse",
    "require_work_file",
    "snapshot_path",
    "work_path",
]

LOG = logging.getLogger(__name__)

_PURPOSE = "creating"


@contextlib.contextmanager
def open_warehouse(
    path: Path, *, read_only: bool = False, memory_limit: str | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the work file at *path*, made or migrated first where needed; checkpoint on leaving.

    Each statement commits on its own unless the caller begins a transaction, and the caller must
    end what it begins.

    Parameters
    ----------
    path : Path
        The work file, see `work_path`.
    read_only : bool
        Neither make, migrate nor change the file. It still keeps every writer out meanwhile.
    memory_limit : str, optional
        What DuckDB may hold in memory before it spills to disk, such as ``4GB``.

    Raises
    ------
    WarehouseLockedError
        Another process has the file; the sentence names it and what to do.
    WarehouseNewerError, WarehouseDamagedError, WarehouseMissingError, DiskFullError
        Each says what was found and the remedy; the file is left as it is.
    """
    if is_absent(path):
        if read_only:
            require_work_file(path.parent)
        with translated(path, is_opening=True):
            _create(path)
    if not read_only:
        remove_leftovers(path, _PURPOSE)
    connection = _connect_current(path, read_only=read_only)
    try:
        with translated(path):
            connection.execute("set timezone = 'UTC'")
            if memory_limit is not None:
                connection.execute("set memory_limit = $limit", {"limit": memory_limit})
            yield connection
            # A full disk at the checkpoint inside close() gives no error; here it does.
            if not read_only:
                connection.execute("checkpoint")
    finally:
        _close(connection)


@contextlib.contextmanager
def open_snapshot(home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """Open the published snapshot of *home*, read-only; a build never blocks it.

    Raises
    ------
    WarehouseMissingError
        Nothing has been published yet.
    WarehouseDamagedError
        The snapshot is no DuckDB file.
    """
    path = snapshot_path(home)
    if is_absent(path):
        raise WarehouseMissingError(
            f"a published snapshot must exist, found none at {path}; run `calibrary run` or "
            "`calibrary build` first, or name another home with --home."
        )
    with translated(path, is_opening=True):
        connection = connect(path, read_only=True)
    try:
        with translated(path):
            yield connection
    finally:
        _close(connection)


def require_work_file(home: Path) -> None:
    """Refuse to go on without a work file: dbt, and opening it to write, would make an empty one.

    Raises
    ------
    WarehouseMissingError
        Nothing was ever ingested in this home.
    """
    if is_absent(work_path(home)):
        raise WarehouseMissingError(
            f"a work file must exist, found none at {work_path(home)}; run `calibrary run` or "
            "`calibrary ingest` first, or name another home with --home."
        )


def checkpoint(connection: duckdb.DuckDBPyConnection) -> None:
    """Write everything committed into the file itself: the end of a stage or a migration."""
    connection.execute("checkpoint")


def _connect_current(path: Path, *, read_only: bool) -> duckdb.DuckDBPyConnection:
    """Return a connection to a file of this program's version of the tables."""
    with translated(path, is_opening=True):
        connection = connect(path, read_only=read_only)
        try:
            if is_current(connection, path, read_only=read_only):
                return connection
        except BaseException:
            connection.close()
            raise
        connection.close()
        migrate(path)
        return connect(path)


def _close(connection: duckdb.DuckDBPyConnection) -> None:
    """Close *connection* without waiting for a query that Ctrl-C left running."""
    connection.interrupt()
    connection.close()


def _create(path: Path) -> None:
    """Make a new work file at *path*; where another process is first, its file stays."""
    if "?" in str(path.absolute()):
        raise WarehouseError(
            f"the home's path must have no question mark, since DuckDB would put its write-ahead "
            f"log elsewhere, got {path.absolute()}; choose another home with --home."
        )
    if log_path(path).exists():
        raise WarehouseDamagedError(
            f"{path} must lie beside its write-ahead log {log_path(path).name}, which holds "
            "changes and would enter a new file; put the file back, or move the log away."
        )
    path.parent.mkdir(parents=True, exist_ok=True)
    remove_leftovers(path, _PURPOSE)
    aside = aside_path(path, _PURPOSE)
    try:
        create_tables(aside)
        sync(aside)
        if path.exists() and is_absent(path):
            LOG.warning(
                "%s had fewer than %s bytes, left by an interrupted start; it is made anew.",
                path,
                f"{SMALLEST_WHOLE_FILE:,}",
            )
            path.unlink()
        _name(aside, path)
        sync(path.parent)
    finally:
        aside.unlink(missing_ok=True)
        log_path(aside).unlink(missing_ok=True)


def _name(aside: Path, path: Path) -> None:
    """Name the file at *aside* *path* unless that is taken; a rename would replace it."""
    try:
        path.hardlink_to(aside)
    except FileExistsError:
        return
    except OSError:  # a file system without hard links
        if not path.exists():
            aside.rename(path)
