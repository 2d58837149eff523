from __future__ import annotations

from pathlib import Path

import duckdb
import pytest
import sqlalchemy as sa

from warehouse.connection import open_warehouse
from warehouse.schema import arrow_schema, key_columns, metadata

TABLES = metadata.sorted_tables


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("home") / "work.duckdb"
    with open_warehouse(path):
        pass
    return path


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_every_table_and_column_says_what_it_holds_and_what_null_means(table: sa.Table) -> None:
    assert table.comment
    assert "One row per" in table.comment or "one row per" in table.comment
    for column in table.columns:
        assert column.comment, column.name
        assert ("NULL" in column.comment) == bool(column.nullable), column.name


def test_comments_and_keys_are_in_the_file_itself(made: Path) -> None:
    engine = sa.create_engine(f"duckdb:///{made}", poolclass=sa.NullPool)
    inspector = sa.inspect(engine)
    assert set(inspector.get_table_names(schema="raw")) == {table.name for table in TABLES}
    for table in TABLES:
        reflected = sa.Table(table.name, sa.MetaData(), schema="raw", autoload_with=engine)
        assert reflected.comment == table.comment
        assert {column.name: column.comment for column in reflected.columns} == {
            column.name: column.comment for column in table.columns
        }
        key = inspector.get_pk_constraint(table.name, schema="raw")["constrained_columns"]
        assert key == [column.name for column in table.primary_key]


def test_every_table_has_a_key_and_all_but_the_largest_an_index_of_it() -> None:
    assert all(key_columns(table) for table in TABLES)
    assert [table.name for table in TABLES if not table.primary_key] == ["scored_tokens"]


def test_no_raw_table_has_a_secondary_index_or_a_foreign_key(made: Path) -> None:
    with duckdb.connect(made, read_only=True) as connection:
        assert connection.execute("select index_name from duckdb_indexes()").fetchall() == []
        kinds = connection.execute(
            "select distinct constraint_type from duckdb_constraints() order by 1"
        ).fetchall()
    assert kinds == [("CHECK",), ("NOT NULL",), ("PRIMARY KEY",)]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table.name)
def test_arrow_schema_is_what_duckdb_gives_for_the_table(made: Path, table: sa.Table) -> None:
    with duckdb.connect(made, read_only=True) as connection:
        given = connection.table(f"raw.{table.name}").limit(0).to_arrow_table().schema
    wanted = arrow_schema(table)
    assert given.names == wanted.names
    assert [str(kind) for kind in given.types] == [
        str(kind).replace("list<item:", "list<l:").replace("list<l:", _list_name(given, at))
        for at, kind in enumerate(wanted.types)
    ]


def _list_name(given: object, at: int) -> str:
    """DuckDB names the child of a list differently; the name is no part of the type."""
    kind = str(given.types[at])  # type: ignore[attr-defined]
    return kind.split(":")[0] + ":" if kind.startswith("list<") else ""
