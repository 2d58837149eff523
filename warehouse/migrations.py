"""Make the raw tables, and carry an older file forward step by step.

A step must not add a column with a computed default (``now()``, ``nextval``): a process killed
between such a step and its checkpoint leaves a file that never opens again. Every step is followed
by a checkpoint, and the file is copied before the first one.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from importlib import metadata as package_metadata
from pathlib import Path

import duckdb
import sqlalchemy as sa

from warehouse.errors import WarehouseDamagedError, WarehouseNewerError
from warehouse.schema import RAW_SCHEMA, SCHEMA_VERSION, metadata, schema_versions

Step = Callable[[duckdb.DuckDBPyConnection], None]

STEPS: Mapping[int, Step] = {}
"""Step to each version from the one before; version 1 is what `create_tables` makes."""


def utc_now() -> datetime:
    """Return the time as stored: UTC without a zone."""
    return datetime.now(UTC).replace(tzinfo=None)


def create_tables(path: Path) -> None:
    """Create a new file at *path* with the tables of the current version, whole and closed."""
    engine = sa.create_engine(f"duckdb:///{path}", poolclass=sa.NullPool)
    try:
        with engine.begin() as connection:
            connection.execute(sa.schema.CreateSchema(RAW_SCHEMA, if_not_exists=True))
            metadata.create_all(connection)
            connection.execute(schema_versions.insert(), [_version_row(SCHEMA_VERSION)])
        with engine.connect() as connection:
            connection.execute(sa.text("checkpoint"))
    finally:
        engine.dispose()


def migrate(
    path: Path, steps: Mapping[int, Step] = STEPS, target_version: int = SCHEMA_VERSION
) -> None:
    """Carry the file at *path* forward to *target_version*; do nothing where it is there.

    Raises
    ------
    WarehouseNewerError
        The file is of a later version; it is left as it is.
    WarehouseDamagedError
        The file has no raw tables: it is some other database.
    """
    version = read_version(path)
    if version == target_version:
        return
    if version > target_version:
        raise WarehouseNewerError(
            f"{path} must be of version {target_version} or older, got version {version}: a newer "
            "calibrary wrote it; upgrade this one, or choose another home with --home."
        )
    # The copy stays until the user removes it: it is their way back to the older program.
    shutil.copy2(path, path.with_name(f"{path.name}.version-{version}"))
    connection = duckdb.connect(path)
    try:
        for next_version in range(version + 1, target_version + 1):
            connection.begin()
            steps[next_version](connection)
            row = _version_row(next_version)
            connection.execute(
                "insert into raw.schema_versions values ($version, $applied_at, $package_version)",
                row,
            )
            connection.commit()
            connection.execute("checkpoint")
    finally:
        connection.close()


def read_version(path: Path) -> int:
    """Return the version of the raw tables in the file at *path*."""
    connection = duckdb.connect(path)
    try:
        row = connection.execute("select max(version) from raw.schema_versions").fetchone()
    except duckdb.CatalogException:
        row = None
    finally:
        connection.close()
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
