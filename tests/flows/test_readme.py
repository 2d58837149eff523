"""The README's queries give what it shows."""

from __future__ import annotations

import re
from pathlib import Path

import duckdb
import pytest

from warehouse.connection import snapshot_path

README = (Path(__file__).resolve().parents[2] / "README.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"```sql\n([^`]*)```\n\n((?:\|[^\n]*\n)+)", README)


def test_the_readme_has_ten_queries() -> None:
    assert len(EXAMPLES) == 10


@pytest.mark.parametrize(("sql", "shown"), EXAMPLES)
def test_a_query_of_the_readme_gives_the_rows_shown(
    sql: str, shown: str, small_study_home: Path
) -> None:
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
