"""Columns of the raw tables: part of the key, never NULL, or NULL with a meaning."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

RAW_SCHEMA = "raw"

metadata = sa.MetaData(schema=RAW_SCHEMA)

_MERGED = "is_merge_key"


def key(
    name: str, comment: str, kind: type[sa.types.TypeEngine[Any]] = sa.String
) -> sa.Column[Any]:
    """Return a column of the primary key."""
    return sa.Column(name, kind, primary_key=True, autoincrement=False, comment=comment)


def merge_key(
    name: str, comment: str, kind: type[sa.types.TypeEngine[Any]] = sa.String
) -> sa.Column[Any]:
    """Return a column of the key of a table without an index; `warehouse.writers` merges by it.

    For tables of so many and so small rows that an index would be a good part of them.
    """
    return sa.Column(name, kind, nullable=False, comment=comment, info={_MERGED: True})


def key_columns(table: sa.Table) -> list[sa.Column[Any]]:
    """Return the columns that tell the rows of *table* apart, indexed or not."""
    return [column for column in table.columns if column.primary_key or _MERGED in column.info]


def must(
    name: str,
    kind: sa.types.TypeEngine[Any] | type[sa.types.TypeEngine[Any]],
    comment: str,
    *,
    one_of: Sequence[str] = (),
    minimum: int | None = None,
) -> sa.Column[Any]:
    """Return a column that is never NULL."""
    return sa.Column(name, kind, *_checks(name, one_of, minimum), nullable=False, comment=comment)


def may(
    name: str,
    kind: sa.types.TypeEngine[Any] | type[sa.types.TypeEngine[Any]],
    comment: str,
    *,
    one_of: Sequence[str] = (),
    minimum: int | None = None,
    is_finite: bool = False,
) -> sa.Column[Any]:
    """Return a column whose NULL has a meaning, which *comment* gives."""
    checks = _checks(name, one_of, minimum, is_finite=is_finite)
    return sa.Column(name, kind, *checks, nullable=True, comment=comment)


def _checks(
    name: str, one_of: Sequence[str], minimum: int | None, *, is_finite: bool = False
) -> list[sa.CheckConstraint]:
    """Return the conditions that DuckDB itself holds a column to; NULL passes them."""
    conditions = []
    if one_of:
        conditions.append(f"{name} in ({', '.join(repr(value) for value in one_of)})")
    if minimum is not None:
        conditions.append(f"{name} >= {minimum}")
    if is_finite:
        conditions.append(f"isfinite({name})")
    return [sa.CheckConstraint(condition) for condition in conditions]
