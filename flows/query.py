"""Answer SQL from the published snapshot, as a table, CSV, JSON or Parquet."""

from __future__ import annotations

import csv
import datetime as dt
import decimal
import json
import math
import re
import sys
from enum import StrEnum
from pathlib import Path
from typing import IO, Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from rich.console import Console, ConsoleOptions
from rich.table import Table
from rich.text import Text

from udfs.errors import CalibraryError
from warehouse.connection import open_snapshot
from warehouse.files import is_own_file

LONGEST_CELL = 120

_READING = frozenset({duckdb.StatementType.SELECT, duckdb.StatementType.EXPLAIN})
"""The snapshot is read-only whatever comes, but COPY would write files elsewhere."""

_EXPLAIN = re.compile(
    r"(?:\s|--[^\n]*(?:\n|$)|/\*.*?\*/|explain\b|analy[sz]e\b|"
    r"\(\s*(?:analy[sz]e|format)\b[^)]*\))*",
    re.IGNORECASE | re.DOTALL,
)
"""What stands before the statement that is explained: EXPLAIN ANALYZE runs it, COPY included."""


class QueryError(CalibraryError):
    """The SQL could not be answered from the snapshot."""


class QueryFormat(StrEnum):
    """How the answer is printed."""

    TABLE = "table"
    CSV = "csv"
    JSON = "json"


def answer(home: Path, sql: str) -> pa.Table:
    """Run one *sql* statement on the snapshot of *home*, read-only, and return its rows.

    The schema ``marts`` is searched first, so that a mart needs no prefix.

    Raises
    ------
    QueryError
        The text is not one statement that DuckDB can answer; the sentence is DuckDB's.
    """
    with open_snapshot(home) as connection:
        connection.execute("set search_path = 'marts'")
        connection.execute("set timezone = 'UTC'")
        try:
            statements = connection.extract_statements(sql)
            if len(statements) != 1:
                raise QueryError(
                    f"a query must be one SQL statement, got {len(statements)}; "
                    "give them one at a time."
                )
            kind = _kind_read(connection, statements[0])
            if kind not in _READING:
                raise QueryError(
                    "a query must read, such as select, describe or explain, got a statement of "
                    f"type {kind.name}; a file is written with --parquet or --csv."
                )
            relation = connection.execute(statements[0])
            return relation.to_arrow_table()
        except duckdb.Error as error:
            first_lines = " ".join(str(error).split("\n\nLINE")[0].split())
            raise QueryError(
                f"the query must be answerable from the snapshot: {first_lines}"
            ) from None


def _kind_read(
    connection: duckdb.DuckDBPyConnection, statement: duckdb.Statement
) -> duckdb.StatementType:
    """Return the type of *statement*, or of what it explains."""
    if statement.type != duckdb.StatementType.EXPLAIN:
        return statement.type
    head = _EXPLAIN.match(statement.query)
    inner = connection.extract_statements(statement.query[head.end() if head else 0 :])
    return inner[0].type if len(inner) == 1 else duckdb.StatementType.INVALID


def write_answer(table: pa.Table, form: QueryFormat, stream: IO[str]) -> None:
    """Print *table*: CSV and JSON keep every digit of a double, the table is for reading."""
    if form is QueryFormat.JSON:
        if len(set(table.column_names)) < table.num_columns:
            raise QueryError(
                "columns must have different names to be JSON, got "
                f"{', '.join(table.column_names)}; rename one with `as`."
            )
        rows = [
            {name: _json_value(value) for name, value in row.items()} for row in table.to_pylist()
        ]
        json.dump(rows, stream, ensure_ascii=False, allow_nan=False)
        stream.write("\n")
    elif form is QueryFormat.CSV:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(table.column_names)
        for row in _rows(table):
            writer.writerow([_csv_value(value) for value in row])
    else:
        _print_table(table, stream)


def write_parquet(table: pa.Table, path: Path, home: Path) -> None:
    """Write *table* to *path*, replacing it only when the new file is whole; no file of *home*."""
    if is_own_file(home, path):
        raise QueryError(
            f"an answer must not replace a file of the warehouse, got {path}; name another file."
        )
    part = path.with_name(path.name + ".part")
    try:
        pq.write_table(table, part)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise QueryError(f"{path} must be writable: {error}.") from None


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    """Return the rows by place: two columns may share a name."""
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _json_value(value: Any) -> Any:
    """Keep what JSON has: NaN and infinities become their names, decimals doubles."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {name: _json_value(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(inner) for inner in value]
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    if isinstance(value, decimal.Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    if isinstance(value, bytes):
        return value.hex()
    return value if isinstance(value, str | int | float | bool | None) else str(value)


def _csv_value(value: Any) -> Any:
    if isinstance(value, dict | list | tuple):
        return json.dumps(_json_value(value), ensure_ascii=False)
    return _json_value(value)


def _print_table(table: pa.Table, stream: IO[str]) -> None:
    console = Console(file=stream, highlight=False)
    if stream is not sys.stdout or not stream.isatty():
        console.width = 10_000
    rows = [[Text(_cell(value)) for value in row] for row in _rows(table)]
    shown = Table()
    for name in table.column_names:
        shown.add_column(Text(name))
    for row in rows:
        shown.add_row(*row)
    if rows and console.measure(shown, options=_of_any_width(console)).maximum > console.width:
        shown = _upright(table.column_names, rows)
    console.print(shown)
    console.print(f"{table.num_rows:,} row{'' if table.num_rows == 1 else 's'}", markup=False)


def _of_any_width(console: Console) -> ConsoleOptions:
    return console.options.update(max_width=10_000)


def _upright(names: list[str], rows: list[list[Text]]) -> Table:
    """Return rows below each other, a line per column, where side by side none is legible."""
    shown = Table(show_header=False)
    for row in rows:
        for name, cell in zip(names, row, strict=True):
            shown.add_row(Text(name), cell)
        shown.add_section()
    return shown


def _cell(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(_csv_value(value)).replace("\n", "\\n")
    return text if len(text) <= LONGEST_CELL else text[: LONGEST_CELL - 1] + "…"
