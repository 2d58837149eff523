"""Read what the page carries from the snapshot, and write it as JSON that loses no bit.

A table is kept by column; a text column whose values repeat is kept as its different values and
their places, since prompts and story sources come again in every row.
"""

from __future__ import annotations

import datetime as dt
import math
from dataclasses import dataclass
from typing import Any

import duckdb

from flows.report.queries import QUERIES, STUDY_NAMES, ReportQuery


@dataclass(frozen=True)
class ReportTable:
    """The answer to one query; *unpublished* says why the snapshot cannot answer it."""

    query: ReportQuery
    column_names: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    unpublished: str | None = None

    def as_json(self) -> dict[str, Any]:
        """Return it by column, as the page's script unpacks it."""
        columns = zip(*self.rows, strict=True) if self.rows else [()] * len(self.column_names)
        return {
            "row_count": len(self.rows),
            "columns": {
                name: _packed([json_value(value) for value in values])
                for name, values in zip(self.column_names, columns, strict=True)
            },
        }


def read_tables(
    connection: duckdb.DuckDBPyConnection, study_names: list[str]
) -> dict[str, ReportTable]:
    """Answer every query of the report for *study_names*, by the name of the query."""
    return {query.name: _read(connection, query, study_names) for query in QUERIES}


def printed_sql(query: ReportQuery, study_names: list[str]) -> str:
    """Return the statement with its studies written out, to be run by anybody as it stands."""
    literals = ", ".join("'" + name.replace("'", "''") + "'" for name in study_names)
    return query.sql.replace(STUDY_NAMES, f"[{literals}]")


def json_value(value: Any) -> Any:
    """Return *value* as JSON has it: infinities by their names, times as text in UTC."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dt.datetime):
        return value.isoformat(sep=" ", timespec="seconds")
    return value


def _read(
    connection: duckdb.DuckDBPyConnection, query: ReportQuery, study_names: list[str]
) -> ReportTable:
    try:
        answer = connection.execute(query.sql, {"study_names": study_names})
    except (duckdb.CatalogException, duckdb.BinderException):
        # Published by another version of the program, whose marts were others.
        return ReportTable(query, (), (), _not_published(query))
    names = tuple(column[0] for column in answer.description or [])
    rows = tuple(answer.fetchall())
    return ReportTable(query, names, rows)


def _not_published(query: ReportQuery) -> str:
    return (
        f"This snapshot has no {query.mart} as this version reads it; "
        "`calibrary build` publishes it anew."
    )


def _packed(values: list[Any]) -> dict[str, list[Any]]:
    if not any(isinstance(value, str) for value in values):
        return {"values": values}
    different = list(dict.fromkeys(values))
    if 2 * len(different) > len(values):
        return {"values": values}
    places = {value: place for place, value in enumerate(different)}
    return {"different": different, "places": [places[value] for value in values]}
