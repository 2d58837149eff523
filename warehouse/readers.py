"""Questions about the raw rows that more than one stage asks.

Results are Arrow tables or single values, in an order that the rows themselves settle, so that the
same rows give the same answer.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

import duckdb
import pyarrow as pa
import sqlalchemy as sa
from duckdb_sqlalchemy import Dialect

from warehouse.schema import (
    ingests,
    metadata,
    publications,
    published_figures,
    runs,
    schema_versions,
)

_DIALECT = Dialect(paramstyle="numeric_dollar")

_JOURNALS = (runs, publications, published_figures, schema_versions)
"""Tables that say what was done and when: they grow while the data stay the same."""

_TIMES = frozenset({ingests.c.started_at, ingests.c.finished_at})
"""Columns of the data that say when a row was written, not what it is."""


def read_arrow(
    connection: duckdb.DuckDBPyConnection,
    query: str | sa.Select[Any],
    parameters: Mapping[str, object] | None = None,
) -> pa.Table:
    """Return the rows of *query* as an Arrow table.

    Parameters
    ----------
    connection : duckdb.DuckDBPyConnection
        Connection to a work file or snapshot.
    query : str or sqlalchemy.Select
        SQL text with parameters written ``$name``, or a statement over the raw tables.
    parameters : mapping of str to object, optional
        Values to bind; in a statement, those of its ``bindparam``.
    """
    if isinstance(query, str):
        return connection.execute(query, dict(parameters or {})).to_arrow_table()
    compiled = query.params(**(parameters or {})).compile(dialect=_DIALECT)
    values = [compiled.params[name] for name in compiled.positiontup or ()]
    return connection.execute(str(compiled), values).to_arrow_table()


def raw_state_id(connection: duckdb.DuckDBPyConnection) -> str:
    """Return the fingerprint of the raw rows: equal rows give an equal id, in whatever order.

    Per table the count of rows and the sum and exclusive or of their 64-bit hashes, over every
    table except ``runs``, ``publications``, ``published_figures`` and ``schema_versions`` and every
    column that says *what* and not *when*; the SHA-256 of these, cut to 32 hexadecimal digits.
    DuckDB's ``hash`` may change between its releases, and the marts are then built once more than
    needed.
    """
    prints = {}
    for table in metadata.sorted_tables:
        if table in _JOURNALS:
            continue
        row_hash = sa.func.hash(*(column for column in table.columns if column not in _TIMES))
        statement = sa.select(
            sa.func.count(),
            # HUGEINT holds the sum of 2 ** 63 hashes; as an integer it does not depend on order.
            sa.cast(sa.func.sum(sa.cast(row_hash, HugeInteger())), sa.String),
            sa.cast(sa.func.bit_xor(row_hash), sa.String),
        ).select_from(table)
        prints[table.name] = connection.execute(str(statement.compile(dialect=_DIALECT))).fetchone()
    canonical = json.dumps(prints, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(canonical.encode()).hexdigest()[:32]


class HugeInteger(sa.types.UserDefinedType[int]):
    """DuckDB's 128-bit integer."""

    cache_ok = True

    def get_col_spec(self, **_options: Any) -> str:
        """Return the name of the type in SQL."""
        return "HUGEINT"
