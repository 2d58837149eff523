"""Names and states of warehouse files, and the plain connection to one."""

from __future__ import annotations

import os
import re
import shutil
import uuid
from pathlib import Path

import duckdb
import psutil

WORK_FILE_NAME = "work.duckdb"
SNAPSHOT_FILE_NAME = "calibrary.duckdb"

SMALLEST_WHOLE_FILE = 12_288
"""Bytes of an empty DuckDB file: its three headers. Anything shorter was never finished."""


def work_path(home: Path) -> Path:
    """Return the file that flows and dbt write."""
    return home / WORK_FILE_NAME


def snapshot_path(home: Path) -> Path:
    """Return the published file that readers open."""
    return home / SNAPSHOT_FILE_NAME


def is_own_file(home: Path, target: Path) -> bool:
    """Say whether *target* is the work file or the snapshot of *home*, which no output replaces."""
    own = {path.resolve() for path in (work_path(home), snapshot_path(home))}
    return target.resolve() in own


def log_path(path: Path) -> Path:
    """Return where DuckDB keeps the write-ahead log of the file at *path*."""
    return path.with_name(path.name + ".wal")


def is_absent(path: Path) -> bool:
    """Say whether no warehouse was ever finished at *path*.

    A file whose creation was interrupted has 0, 4,096 or 8,192 bytes and never opens again. A
    short file without DuckDB's mark was never DuckDB's: it is not absent, and not ours to replace.
    """
    if not path.exists():
        return True
    if path.stat().st_size >= SMALLEST_WHOLE_FILE or log_path(path).exists():
        return False
    head = path.read_bytes()
    return not head.strip(b"\0") or head[8:12] == b"DUCK"


def aside_path(path: Path, purpose: str) -> Path:
    """Return a new name beside *path* to build its successor under; it tells who builds."""
    return path.with_name(f"{path.name}.{purpose}-{os.getpid()}-{uuid.uuid4().hex[:8]}")


def remove_leftovers(path: Path, purpose: str) -> None:
    """Remove what killed processes left beside *path* under names of `aside_path`."""
    name = re.compile(rf"{re.escape(path.name)}\.{re.escape(purpose)}-(\d+)-[0-9a-f]{{8}}")
    for found in sorted(path.parent.glob(f"{path.name}.{purpose}-*")):
        match = name.match(found.name)
        if match is None or _is_running(int(match.group(1))):
            continue
        if found.is_dir():
            shutil.rmtree(found, ignore_errors=True)
        else:
            found.unlink(missing_ok=True)


def connect(path: Path, *, read_only: bool = False) -> duckdb.DuckDBPyConnection:
    """Connect to the file at *path*; a name in SQL never means a variable of the calling Python."""
    connection = duckdb.connect(path, read_only=read_only)
    connection.execute("set python_enable_replacements = false")
    return connection


def sync(path: Path) -> None:
    """Make what a file or a folder holds survive a power cut; for a folder, its renames."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _is_running(pid: int) -> bool:
    return pid != os.getpid() and psutil.pid_exists(pid)
