"""Idempotent Arrow upserts: the only way rows enter schema ``raw``.

``insert … on conflict`` and ``merge`` only, never delete and insert: a process killed at the wrong
moment after such a pair can leave a keyed table whose key finds nothing. Each batch is one
transaction, so killing the process loses at most the batch in flight.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import duckdb
import pyarrow as pa
import sqlalchemy as sa
from duckdb_sqlalchemy import Dialect

from warehouse.errors import RowsRefusedError

BATCH_ROWS = 50_000
"""Rows per transaction. Below 100,000, where a kill before the checkpoint was seen to lose a key."""

Rows = pa.Table | pa.RecordBatch | Sequence[Mapping[str, Any]]

_PREPARER = Dialect().identifier_preparer
_INCOMING = "calibrary_incoming"
_ORDER = "calibrary_incoming_order"


def upsert(
    connection: duckdb.DuckDBPyConnection,
    table: sa.Table,
    rows: Rows,
    *,
    update: Sequence[str] = (),
) -> int:
    """Insert the *rows* whose key is new; for known keys, write the columns of *update*.

    A known row is written only where one of those columns differs, so a rerun changes nothing.
    Where one batch names a key twice the first row counts.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Connection to the work file, outside a transaction.
    table : sqlalchemy.Table
        Target; its primary key is the conflict target.
    rows : pyarrow.Table or RecordBatch, or sequence of mappings
        Must have every column that cannot be NULL and no unknown one.
    update : sequence of str
        Columns to overwrite on a known key; none by default.

    Returns
    -------
    int
        Rows inserted or changed.

    Raises
    ------
    RowsRefusedError
        A column is missing or unknown, or a value is NULL where it may not be.
    """
    on_conflict = "do nothing"
    if update:
        names = [_PREPARER.quote(name) for name in update]
        assignments = ", ".join(f"{name} = excluded.{name}" for name in names)
        target = _PREPARER.quote(table.name)
        differing = " or ".join(
            f"{target}.{name} is distinct from excluded.{name}" for name in names
        )
        on_conflict = f"do update set {assignments} where {differing}"
    keys = ", ".join(_PREPARER.quote(column.name) for column in table.primary_key)
    return _write(connection, table, rows, f"on conflict ({keys}) {on_conflict}")


def adopt(connection: duckdb.DuckDBPyConnection, table: sa.Table, rows: Rows) -> int:
    """Insert new *rows*; a known row that an unfinished ingest left behind is taken over whole.

    Rows count once their ingest is done (``raw.ingests.status``). A row left by an ingest that
    never finished belongs to whichever finished ingest brings it; one that a finished ingest
    brought stays as it is. Returns the rows inserted or taken over.
    """
    unfinished = connection.execute(
        "select count(*) from raw.ingests where status <> 'done'"
    ).fetchone()
    if unfinished is None or unfinished[0] <= 1:  # at most the one that is running now
        return upsert(connection, table, rows)
    columns = [_PREPARER.quote(name) for name in _arrow(table, rows).column_names]
    keys = [_PREPARER.quote(column.name) for column in table.primary_key]
    others = ", ".join(f"{name} = incoming.{name}" for name in columns if name not in keys)
    match = " and ".join(f"target.{key} = incoming.{key}" for key in keys)
    statement = (
        f"merge into {_PREPARER.format_table(table)} as target "  # noqa: S608 - table names only
        f"using ({_distinct_incoming(table)}) as incoming on {match} "
        "when matched and target.ingest_id is distinct from incoming.ingest_id "
        "and incoming.is_left_behind then "
        f"update set {others} "
        f"when not matched then insert ({', '.join(columns)}) "
        f"values ({', '.join(f'incoming.{name}' for name in columns)})"
    )
    # Whether a known row was left behind is looked up before the merge, which takes no subquery.
    lookup = (
        f"(select any_value(ingests.status is distinct from 'done') "  # noqa: S608
        f"from {_PREPARER.format_table(table)} as known "
        "left join raw.ingests as ingests on known.ingest_id = ingests.ingest_id "
        f"where {' and '.join(f'known.{key} = {_INCOMING}.{key}' for key in keys)})"
    )
    statement = statement.replace(
        f"select * from {_INCOMING}",
        f"select *, coalesce({lookup}, false) as is_left_behind from {_INCOMING}",
    )
    return _execute_batches(connection, table, rows, statement)


def _write(
    connection: duckdb.DuckDBPyConnection, table: sa.Table, rows: Rows, on_conflict: str
) -> int:
    names = ", ".join(_PREPARER.quote(name) for name in _arrow(table, rows).column_names)
    statement = (
        f"insert into {_PREPARER.format_table(table)} ({names}) "  # noqa: S608 - table names only
        f"select {names} from ({_distinct_incoming(table)}) {on_conflict}"
    )
    return _execute_batches(connection, table, rows, statement)


def _distinct_incoming(table: sa.Table) -> str:
    """The first incoming row of each key: DuckDB refuses to touch a row twice in one statement."""
    keys = ", ".join(_PREPARER.quote(column.name) for column in table.primary_key)
    return (
        f"select * from {_INCOMING} "  # noqa: S608 - table names only
        f"qualify row_number() over (partition by {keys} order by {_ORDER}) = 1"
    )


def _execute_batches(
    connection: duckdb.DuckDBPyConnection, table: sa.Table, rows: Rows, statement: str
) -> int:
    incoming = _arrow(table, rows)
    changed = 0
    for start in range(0, incoming.num_rows, BATCH_ROWS):
        batch = incoming.slice(start, BATCH_ROWS)
        batch = batch.append_column(_ORDER, pa.array(range(batch.num_rows), pa.int32()))
        connection.register(_INCOMING, batch)
        try:
            connection.begin()
            row = connection.execute(statement).fetchone()
            connection.commit()
            changed += int(row[0]) if row else 0
        except duckdb.ConstraintException as error:
            connection.rollback()
            raise RowsRefusedError(
                f"rows must fit raw.{table.name}: {' '.join(str(error).split())}"
            ) from None
        except BaseException:
            _roll_back(connection)
            raise
        finally:
            connection.unregister(_INCOMING)
    return changed


def _roll_back(connection: duckdb.DuckDBPyConnection) -> None:
    """Roll back where a transaction is still open; the first error is the one to show."""
    try:
        connection.rollback()
    except duckdb.Error:
        return


def _arrow(table: sa.Table, rows: Rows) -> pa.Table:
    """Return *rows* as an Arrow table of columns that *table* has."""
    if isinstance(rows, pa.Table):
        incoming = rows
    elif isinstance(rows, pa.RecordBatch):
        incoming = pa.Table.from_batches([rows])
    else:
        names = list(rows[0]) if rows else [column.name for column in table.columns]
        incoming = pa.table({name: pa.array([row[name] for row in rows]) for name in names})
    known = {column.name: column for column in table.columns}
    unknown = [name for name in incoming.column_names if name not in known]
    absent = [
        name
        for name, column in known.items()
        if (not column.nullable or column.primary_key) and name not in incoming.column_names
    ]
    if unknown or absent:
        raise RowsRefusedError(
            f"rows must have the columns of raw.{table.name}, got "
            f"unknown {unknown or 'none'} and missing {absent or 'none'}."
        )
    for name in incoming.column_names:
        column = known[name]
        if incoming.column(name).null_count and (column.primary_key or not column.nullable):
            raise RowsRefusedError(
                f"{name} must not be NULL in raw.{table.name}, "
                f"got {incoming.column(name).null_count} NULL of {incoming.num_rows} rows."
            )
    return incoming
