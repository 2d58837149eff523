"""Idempotent Arrow upserts: the only way rows enter schema ``raw``.

Always ``insert … on conflict``, or ``merge`` where a table has no index; never delete and insert: a
process killed at the wrong moment after such a pair can leave a keyed table whose key finds nothing
and accepts duplicates. Each batch is one transaction, so killing the process loses at most the
batch in flight, and running again completes what is missing and changes nothing else.

Where one call names a key twice, the first row counts, whatever the batches.
"""

from __future__ import annotations

import contextlib
import functools
import re
from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import duckdb
import pyarrow as pa
import sqlalchemy as sa
from duckdb_sqlalchemy import Dialect, insert
from sqlalchemy.sql.compiler import SQLCompiler

from warehouse.errors import RowsRefusedError
from warehouse.schema import arrow_schema, key_columns

BATCH_ROWS = 50_000
"""Rows per transaction. Below 100,000, where a kill before the checkpoint once lost a key."""

Rows: TypeAlias = "pa.Table | pa.RecordBatch | Sequence[Mapping[str, Any]]"

_DIALECT = Dialect(paramstyle="numeric_dollar")
_INCOMING = "calibrary_incoming"
_ORDER = "calibrary_incoming_order"
_CHECK = re.compile(r"with expression CHECK\((.*)\)$")


def upsert(
    connection: duckdb.DuckDBPyConnection,
    table: sa.Table,
    rows: Rows,
    *,
    update: Sequence[str] = (),
) -> int:
    """Insert the *rows* whose key is new; for known keys, write the columns of *update*.

    A known row is written only where one of those columns differs, so a rerun changes nothing.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Connection to the work file, outside a transaction.
    table : sqlalchemy.Table
        Target; its key (`warehouse.schema.key_columns`) says which rows are known.
    rows : pyarrow.Table or RecordBatch, or sequence of mappings
        Must have every column that cannot be NULL and no unknown one; an absent column is NULL.
    update : sequence of str
        Columns to overwrite on a known key; none by default, and for a table without an index.

    Returns
    -------
    int
        Rows inserted or changed.

    Raises
    ------
    RowsRefusedError
        A column is missing or unknown, or a value is NULL, of another type or out of range. The
        batches before the refused one are kept.
    ValueError
        *update* names a column of the key or a list, or the table has no index.
    """
    _check_update(table, update)
    incoming = _first_of_each_key(table, _fitted(table, rows))
    statement = _upsert_statement(table, tuple(incoming.column_names), tuple(update))
    return _execute(connection, table, incoming, statement)


def adopt(connection: duckdb.DuckDBPyConnection, table: sa.Table, rows: Rows) -> int:
    """Insert new *rows*; a known row that an unfinished ingest left behind is taken over whole.

    Rows count once their ingest is done (``raw.ingests.status``). A row left by an ingest that
    never finished belongs to whichever ingest brings it next, with all that this one says of it; a
    row that a finished ingest brought, or that these rows' own ingest brought before, stays as it
    is.

    Returns
    -------
    int
        Rows inserted or taken over.

    Raises
    ------
    RowsRefusedError
        As `upsert` does.
    """
    incoming = _first_of_each_key(table, _fitted(table, rows))
    statement = _adopt_statement(table, tuple(incoming.column_names))
    finished = connection.execute(
        "select ingest_id from raw.ingests where status = 'done'"
    ).fetchall()
    return _execute(
        connection, table, incoming, statement, {"finished": [row[0] for row in finished]}
    )


@functools.cache  # making one takes 1 to 3 ms, as long as DuckDB needs for a small batch
def _upsert_statement(
    table: sa.Table, column_names: tuple[str, ...], update: tuple[str, ...]
) -> SQLCompiler:
    """Return the statement of `upsert`; a merge takes the columns as they come."""
    if not table.primary_key:
        return _merge(table).compile(dialect=_DIALECT)
    statement = insert(table).from_select(column_names, _incoming(column_names))
    if not update:
        statement = statement.on_conflict_do_nothing(index_elements=list(table.primary_key))
        return statement.compile(dialect=_DIALECT)
    differs = [table.c[name].is_distinct_from(statement.excluded[name]) for name in update]
    statement = statement.on_conflict_do_update(
        index_elements=list(table.primary_key),
        set_={name: statement.excluded[name] for name in update},
        where=sa.or_(*differs),
    )
    return statement.compile(dialect=_DIALECT)


@functools.cache
def _adopt_statement(table: sa.Table, column_names: tuple[str, ...]) -> SQLCompiler:
    """Return the statement of `adopt`, with the finished ingests as its one parameter."""
    statement = insert(table).from_select(column_names, _incoming(column_names))
    keys = {column.name for column in table.primary_key}
    # DuckDB takes no subquery in this place, so the finished ingests (a short list) are bound.
    is_finished = sa.func.list_contains(
        sa.bindparam("finished", type_=sa.ARRAY(sa.String)), table.c.ingest_id
    )
    statement = statement.on_conflict_do_update(
        index_elements=list(table.primary_key),
        set_={name: statement.excluded[name] for name in column_names if name not in keys},
        where=sa.and_(
            table.c.ingest_id.is_distinct_from(statement.excluded.ingest_id),
            sa.not_(is_finished),
        ),
    )
    return statement.compile(dialect=_DIALECT)


def _check_update(table: sa.Table, update: Sequence[str]) -> None:
    if update and not table.primary_key:
        raise ValueError(
            f"update must be empty for raw.{table.name}, which has no index of its key, got "
            f"{list(update)!r}"
        )
    for name in update:
        column = table.c[name]
        if column.primary_key or isinstance(column.type, sa.ARRAY):
            # DuckDB turns such an update into a delete and an insert behind the scenes.
            raise ValueError(f"update must name columns beside key and lists, got {name!r}")


def _merge(table: sa.Table) -> sa.TextClause:
    """Return the statement that inserts what is new into a table without an index of its key."""
    keys = [_DIALECT.identifier_preparer.quote(column.name) for column in key_columns(table)]
    target = _DIALECT.identifier_preparer.format_table(table)
    return sa.text(
        f"merge into {target} using {_INCOMING} using ({', '.join(keys)}) "
        "when not matched then insert by name"
    )


def _incoming(column_names: Sequence[str]) -> sa.Select[Any]:
    columns: list[sa.ColumnClause[Any]] = [sa.column(name) for name in column_names]
    return sa.select(*columns).select_from(sa.table(_INCOMING))


def _execute(
    connection: duckdb.DuckDBPyConnection,
    table: sa.Table,
    incoming: pa.Table,
    statement: SQLCompiler,
    values: Mapping[str, object] | None = None,
) -> int:
    parameters = [(values or {})[name] for name in statement.positiontup or ()]
    changed = 0
    for start in range(0, incoming.num_rows, BATCH_ROWS):
        connection.register(_INCOMING, incoming.slice(start, BATCH_ROWS))
        try:
            connection.begin()
            row = connection.execute(str(statement), parameters).fetchone()
            connection.commit()
        except duckdb.ConstraintException as error:
            connection.rollback()
            raise RowsRefusedError(_refusal(table, error, incoming, start)) from None
        except BaseException:
            _roll_back(connection)
            raise
        finally:
            connection.unregister(_INCOMING)
        changed += int(row[0]) if row else 0
    return changed


def _roll_back(connection: duckdb.DuckDBPyConnection) -> None:
    """Roll back where a transaction is still open; the first error is the one to show."""
    with contextlib.suppress(duckdb.Error):
        connection.rollback()


def _refusal(
    table: sa.Table, error: duckdb.ConstraintException, incoming: pa.Table, start: int
) -> str:
    """Return the sentence for a broken check: the condition, the first value that breaks it."""
    message = " ".join(str(error).split())
    found = _CHECK.search(message)
    if found is None:
        return f"rows must fit raw.{table.name}, and DuckDB refused them: {message}."
    condition = found.group(1)
    # The condition is the table's own, as DuckDB prints it; no outside text is in it.
    broken = (
        duckdb.from_arrow(incoming.slice(start, BATCH_ROWS))
        .filter(f"not {condition}")
        .limit(1)
        .to_arrow_table()
        .to_pylist()
    )
    row = broken[0] if broken else {}
    named = [name for name in row if re.search(rf"\b{re.escape(name)}\b", condition)]
    values = ", ".join(f"{name} {row[name]!r}" for name in named) or "a value outside"
    key = ", ".join(f"{c.name} {row.get(c.name)!r}" for c in key_columns(table))
    if condition.startswith("("):
        condition = condition[1:-1]
    return f"raw.{table.name} must hold {condition}, got {values}, in the row with {key}."


def _fitted(table: sa.Table, rows: Rows) -> pa.Table:
    """Return *rows* as an Arrow table in the column types of *table*, checked."""
    incoming = _as_arrow(table, rows)
    known = {field.name: field for field in arrow_schema(table)}
    unknown = [name for name in incoming.column_names if name not in known]
    absent = [
        name
        for name, field in known.items()
        if not field.nullable and name not in incoming.column_names
    ]
    if unknown or absent:
        raise RowsRefusedError(
            f"rows must have the columns of raw.{table.name}, got "
            f"unknown {unknown or 'none'} and missing {absent or 'none'}."
        )
    columns: dict[str, Any] = {}
    for name in incoming.column_names:
        column = incoming.column(name)
        if column.null_count and not known[name].nullable:
            raise RowsRefusedError(
                f"{name} must not be NULL in raw.{table.name}, "
                f"got {column.null_count:,} NULL of {incoming.num_rows:,} rows."
            )
        columns[name] = _cast(table, name, column, known[name].type)
    return pa.table(columns)


def _as_arrow(table: sa.Table, rows: Rows) -> pa.Table:
    if isinstance(rows, pa.Table):
        return rows
    if isinstance(rows, pa.RecordBatch):
        return pa.Table.from_batches([rows])
    names = list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        return arrow_schema(table).empty_table()
    try:
        # Types are inferred here and cast later: given a type, Arrow would cut 1.5 down to 1.
        return pa.table({name: pa.array([row.get(name) for row in rows]) for name in names})
    except pa.ArrowException as error:
        raise RowsRefusedError(
            f"rows for raw.{table.name} must have one type in every column: {error}."
        ) from None


def _cast(table: sa.Table, name: str, column: pa.ChunkedArray, kind: pa.DataType) -> Any:
    # DuckDB reads both layouts of a string; a cast of the large one could overflow the small.
    if column.type == kind or (pa.types.is_string(kind) and pa.types.is_large_string(column.type)):
        return column
    try:
        return column.cast(kind)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise RowsRefusedError(
            f"{name} must be of type {kind} in raw.{table.name}, got {column.type}: {error}."
        ) from None


def _first_of_each_key(table: sa.Table, incoming: pa.Table) -> pa.Table:
    """Drop every row whose key came before it: DuckDB refuses to touch a row twice at once."""
    keys = [column.name for column in key_columns(table)]
    numbered = incoming.select(keys).append_column(_ORDER, pa.array(range(incoming.num_rows)))
    first = numbered.group_by(keys, use_threads=False).aggregate([(_ORDER, "min")])
    if first.num_rows == incoming.num_rows:
        return incoming
    return incoming.take(first.column(f"{_ORDER}_min").combine_chunks().sort())
