"""Make the raw tables, and carry an older file forward step by step.

A step must not add a column with a computed default (``now()``, ``nextval``): a process killed
between such a step and its checkpoint leaves a file that never opens again. Every step is followed
by a checkpoint, and the file is copied before the first one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from contextlib import closing
from datetime import UTC, datetime
from importlib import metadata as package_metadata
from pathlib import Path

import duckdb
import sqlalchemy as sa
from duckdb_sqlalchemy import Dialect

from warehouse.errors import WarehouseDamagedError, WarehouseError, WarehouseNewerError
from warehouse.files import connect, sync
from warehouse.schema import RAW_SCHEMA, SCHEMA_VERSION, metadata, schema_versions

Step = Callable[[duckdb.DuckDBPyConnection], None]

_DIALECT = Dialect(paramstyle="numeric_dollar")  # the default doubles every per cent sign


def _run_file(name: str) -> Step:
    """Return the step that executes the statements of ``steps/<name>``."""

    def step(connection: duckdb.DuckDBPyConnection) -> None:
        connection.execute((Path(__file__).parent / "steps" / name).read_text(encoding="utf-8"))

    return step


STEPS: Mapping[int, Step] = {
    version: _run_file(f"version_{version}.sql") for version in range(2, SCHEMA_VERSION + 1)
}
"""Step to each version from the one before. The files say what changed then, and never change."""


def utc_now() -> datetime:
    """Return the time as stored: UTC without a zone."""
    return datetime.now(UTC).replace(tzinfo=None)


def create_tables(path: Path) -> None:
    """Create a new file at *path* with the tables of the current version, whole and closed."""
    url = sa.URL.create("duckdb", database=str(path))
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    try:
        with engine.begin() as connection:
            connection.execute(sa.schema.CreateSchema(RAW_SCHEMA, if_not_exists=True))
            metadata.create_all(connection)
            connection.execute(schema_versions.insert(), [_version_row(SCHEMA_VERSION)])
        with engine.connect() as connection:
            connection.execute(sa.text("checkpoint"))
    except sa.exc.DBAPIError as error:
        raise error.orig or error from None  # DuckDB's own error: `faults` knows its words
    finally:
        engine.dispose()


def is_current(
    connection: duckdb.DuckDBPyConnection,
    path: Path,
    *,
    read_only: bool = False,
    target_version: int = SCHEMA_VERSION,
) -> bool:
    """Say whether the open file at *path* is of *target_version*; False means: migrate it.

    Raises
    ------
    WarehouseNewerError
        The file is of a later version.
    WarehouseDamagedError
        The file has no raw tables: it is some other database.
    WarehouseError
        The file is of an earlier version and was opened read-only.
    """
    version = _read_version(connection, path)
    if version > target_version:
        raise WarehouseNewerError(
            f"{path} must be of version {target_version} or older, got version {version}: a newer "
            "calibrary wrote it; upgrade this one, or choose another home with --home."
        )
    if version < target_version and read_only:
        raise WarehouseError(
            f"{path} must be of version {target_version} to be read, got version {version}; "
            "`calibrary build` brings it up to date."
        )
    return version == target_version


def migrate(
    path: Path, steps: Mapping[int, Step] = STEPS, target_version: int = SCHEMA_VERSION
) -> None:
    """Carry the file at *path* forward to *target_version*; do nothing where it is there.

    The file is copied first, to ``<name>.version-<version>``. The copy stays until the user
    removes it: it is their way back to the older program.

    Raises
    ------
    WarehouseNewerError, WarehouseDamagedError
        As `is_current`; the file is left as it is.
    """
    with closing(connect(path)) as connection:
        if is_current(connection, path, target_version=target_version):
            return
        version = _read_version(connection, path)
        # The copy is of this file alone, so nothing may be left in its write-ahead log.
        connection.execute("checkpoint")
    # Not while it is open: closing any handle of a file gives back this process's locks on it.
    _copy(path, path.with_name(f"{path.name}.version-{version}"))
    with closing(connect(path)) as connection:
        for next_version in range(version + 1, target_version + 1):
            connection.begin()
            steps[next_version](connection)
            connection.execute(
                "insert into raw.schema_versions by name "
                "select $version as version, $applied_at as applied_at, "
                "$package_version as package_version",
                _version_row(next_version),
            )
            connection.commit()
            connection.execute("checkpoint")
        _write_comments(connection)
        connection.execute("checkpoint")


def _write_comments(connection: duckdb.DuckDBPyConnection) -> None:
    """Say again what every table and column holds: a step may have made or changed some."""
    present = set(
        connection.execute(
            "select table_name, column_name from duckdb_columns() where schema_name = $schema",
            {"schema": RAW_SCHEMA},
        ).fetchall()
    )
    for table in metadata.sorted_tables:
        columns = [column for column in table.columns if (table.name, column.name) in present]
        if columns:
            connection.execute(_ddl(sa.schema.SetTableComment(table)))
        for column in columns:
            connection.execute(_ddl(sa.schema.SetColumnComment(column)))


def _ddl(element: sa.schema.ExecutableDDLElement) -> str:
    return str(element.compile(dialect=_DIALECT)).strip()


def _copy(path: Path, target: Path) -> None:
    part = target.with_name(target.name + ".part")
    shutil.copy2(path, part)
    sync(part)
    part.replace(target)
    sync(target.parent)


def _read_version(connection: duckdb.DuckDBPyConnection, path: Path) -> int:
    try:
        row = connection.execute("select max(version) from raw.schema_versions").fetchone()
    except duckdb.CatalogException:
        row = None
    if row is None or row[0] is None:
        raise WarehouseDamagedError(
            f"{path} must hold the raw tables of calibrary, found none; it is another database: "
            "choose another home with --home."
        )
    return int(row[0])


def _version_row(version: int) -> dict[str, object]:
    return {
        "version": version,
        "applied_at": utc_now(),
        "package_version": package_metadata.version("calibrary"),
    }
