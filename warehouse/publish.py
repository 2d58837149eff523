"""Publish the marts: a new file beside the snapshot, whole and on disk before it takes its name.

The order matters, since a kill or a power cut between two steps must not leave a wrong file: copy,
checkpoint, close, look again, remove a stale write-ahead log of the old snapshot (it would be
replayed into the new one without a word), ``fsync``, replace, ``fsync`` the folder. Readers that
hold the old snapshot keep it until they close it.
"""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import sqlalchemy as sa
from duckdb_sqlalchemy import Dialect
from sqlalchemy.schema import CreateSchema, SetColumnComment, SetTableComment

from udfs.sketch_macros import create_sketch_macros
from warehouse.errors import PublicationError, WarehouseMissingError
from warehouse.faults import translated
from warehouse.files import (
    aside_path,
    connect,
    is_absent,
    log_path,
    remove_leftovers,
    snapshot_path,
    sync,
    work_path,
)

_DIALECT = Dialect(paramstyle="numeric_dollar")  # the default doubles every per cent sign
_WORK = "calibrary_work"
_PURPOSE = "publishing"
_READ_ONLY = 0o444


def publish(
    home: Path, relations: Sequence[tuple[str, str]], *, memory_limit: str | None = None
) -> Path:
    """Replace the snapshot of *home* by a copy of *relations* and return its path.

    Parameters
    ----------
    home : Path
        Folder of the work file and the snapshot. Nobody may be writing the work file.
    relations : sequence of (schema, name)
        Tables or views to copy, with their comments. Name what was built, never "all there is": a
        killed dbt leaves ``…__dbt_tmp`` and ``…__dbt_backup`` tables behind.
    memory_limit : str, optional
        What DuckDB may hold in memory meanwhile, in its own notation.

    Raises
    ------
    PublicationError
        A relation is missing, or none was named. The old snapshot is then unchanged, as it is
        after every other fault.
    WarehouseLockedError, WarehouseMissingError, DiskFullError
        The work file is being written, there is none, or there is no room for the copy.
    """
    work, target = work_path(home), snapshot_path(home)
    if is_absent(work):
        raise WarehouseMissingError(
            f"a work file must exist to publish from, found none at {work}; "
            "run `calibrary run` first."
        )
    if not relations:
        raise PublicationError(f"at least one table must be published from {work}, got none.")
    remove_leftovers(target, _PURPOSE)
    aside = aside_path(target, _PURPOSE)
    try:
        with translated(target):
            _copy(work, aside, relations, memory_limit)
            aside.chmod(_READ_ONLY)
            log_path(target).unlink(missing_ok=True)
            sync(aside)
            aside.replace(target)
            sync(home)
    finally:
        aside.unlink(missing_ok=True)
        log_path(aside).unlink(missing_ok=True)
        shutil.rmtree(aside.with_name(aside.name + ".tmp"), ignore_errors=True)
    return target


def _copy(
    work: Path, aside: Path, relations: Sequence[tuple[str, str]], memory_limit: str | None
) -> None:
    """Fill the new file *aside* and make sure that a plain reader finds everything in it."""
    with _connected(aside, memory_limit=memory_limit) as connection:
        attached = str(work).replace("'", "''")
        connection.execute(f"attach '{attached}' as {_WORK} (read_only)")
        _refuse_missing(connection, work, relations)
        for schema_name in sorted({schema_name for schema_name, _ in relations}):
            connection.execute(_ddl(CreateSchema(schema_name, if_not_exists=True)))
        counts = {relation: _copy_relation(connection, *relation) for relation in relations}
        create_sketch_macros(connection)
        connection.execute(f"detach {_WORK}")
        # A full disk at the checkpoint inside close() gives no error; here it does.
        connection.execute("checkpoint")
    if log_path(aside).exists():
        raise PublicationError(
            f"the new snapshot must be whole in one file, got a write-ahead log beside {aside}; "
            "the old snapshot is unchanged: build again."
        )
    with _connected(aside, read_only=True) as connection:
        for relation, count in counts.items():
            found = _count(connection, sa.table(relation[1], schema=relation[0]))
            if found != count:
                raise PublicationError(
                    f"{'.'.join(relation)} must have {count:,} rows in the new snapshot, "
                    f"got {found:,}; the old snapshot is unchanged: build again."
                )


@contextlib.contextmanager
def _connected(
    path: Path, *, read_only: bool = False, memory_limit: str | None = None
) -> Iterator[duckdb.DuckDBPyConnection]:
    connection = connect(path, read_only=read_only)
    try:
        if memory_limit is not None:
            connection.execute("set memory_limit = $limit", {"limit": memory_limit})
        yield connection
    finally:
        connection.close()


def _refuse_missing(
    connection: duckdb.DuckDBPyConnection, work: Path, relations: Sequence[tuple[str, str]]
) -> None:
    rows = connection.execute(
        "select table_schema, table_name from information_schema.tables "
        "where table_catalog = $catalog",
        {"catalog": _WORK},
    ).fetchall()
    missing = sorted({".".join(relation) for relation in set(relations) - set(rows)})
    if missing:
        raise PublicationError(
            f"every table to publish must be in {work}, found no {', '.join(missing)}; "
            "the old snapshot is unchanged: build again."
        )


def _copy_relation(connection: duckdb.DuckDBPyConnection, schema_name: str, name: str) -> int:
    """Copy one table or view with its comments and return its count of rows."""
    preparer = _DIALECT.identifier_preparer
    copy = preparer.format_table(sa.table(name, schema=schema_name))
    connection.execute(f"create table {copy} as select * from {_WORK}.{copy}")  # noqa: S608
    for kind in ("table", "view"):
        rows = connection.execute(
            f"select comment from duckdb_{kind}s() where database_name = $catalog "  # noqa: S608
            f"and schema_name = $schema and {kind}_name = $name and comment is not null",
            {"catalog": _WORK, "schema": schema_name, "name": name},
        ).fetchall()
        for (comment,) in rows:
            table = sa.Table(name, sa.MetaData(), schema=schema_name, comment=comment)
            connection.execute(_ddl(SetTableComment(table)))
    columns = connection.execute(
        "select column_name, comment from duckdb_columns() where database_name = $catalog "
        "and schema_name = $schema and table_name = $name and comment is not null",
        {"catalog": _WORK, "schema": schema_name, "name": name},
    ).fetchall()
    table = sa.Table(name, sa.MetaData(), schema=schema_name)
    for column_name, comment in columns:
        column: sa.Column[str] = sa.Column(column_name, sa.String, comment=comment)
        table.append_column(column, replace_existing=True)
        connection.execute(_ddl(SetColumnComment(column)))
    return _count(connection, sa.table(name, schema=schema_name))


def _count(connection: duckdb.DuckDBPyConnection, table: sa.TableClause) -> int:
    statement = sa.select(sa.func.count()).select_from(table).compile(dialect=_DIALECT)
    row = connection.execute(str(statement)).fetchone()
    return int(row[0]) if row else 0


def _ddl(element: sa.schema.ExecutableDDLElement) -> str:
    return str(element.compile(dialect=_DIALECT)).strip()
