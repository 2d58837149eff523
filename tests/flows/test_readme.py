"""The queries of the README and of the cookbook give what is printed under them."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from warehouse.connection import snapshot_path

ROOT = Path(__file__).resolve().parents[2]


def examples(page: str) -> list[tuple[str, str]]:
    """Queries of *page* that have a table under them, with that table."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"```sql\n([^`]*)```\n\n((?:\|[^\n]*\n)+)", text)


README, COOKBOOK = examples("README.md"), examples("dbt_project/docs/cookbook.md")


def test_the_readme_has_ten_queries_and_the_cookbook_thirty() -> None:
    assert (len(README), len(COOKBOOK)) == (10, 30)


@pytest.mark.parametrize(("sql", "shown"), README + COOKBOOK)
def test_a_printed_query_gives_the_rows_shown(sql: str, shown: str, small_study_home: Path) -> None:
    lines = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in shown.split("\n")]
    names, expected = lines[0], [row for row in lines[2:] if row != [""]]
    with duckdb.connect(snapshot_path(small_study_home), read_only=True) as connection:
        connection.execute("set search_path = 'marts'")
        result = connection.execute(sql)
        assert [column[0] for column in result.description or ()] == names
        rows = result.fetchall()
    assert len(rows) == len(expected)
    for values, cells in zip(zip(*rows, strict=True), zip(*expected, strict=True), strict=True):
        # Shown rounded; float32 embeddings of another processor may round the last digit over.
        last_digit = 10.0 ** -max(len(cell.partition(".")[2]) for cell in cells)
        for value, cell in zip(values, cells, strict=True):
            if isinstance(value, float):
                assert float(cell) == pytest.approx(value, abs=1.01 * last_digit)
            else:
                assert str(value) == cell
