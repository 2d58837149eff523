"""The page holds what the marts hold, escapes what others wrote, and asks for nothing else."""

from __future__ import annotations

import html.parser
import itertools
import json
import re
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
import yaml

from flows.cli import run_cli
from flows.query import answer
from flows.report.page import rendered_page
from flows.report.queries import CALIBRATION, QUERIES
from flows.report.tables import ReportTable, json_value, printed_sql
from flows.report.write import write_report
from tests.report.snapshots import STUDY, copied_home, write
from warehouse.connection import snapshot_path

EXPOSURES = Path(__file__).parents[2] / "dbt_project" / "models" / "_exposures.yml"
HOSTILE = '</script><b>"bold"</b>\'&amp;'


class Elements(html.parser.HTMLParser):
    """Every element of a page in order, and the text of each script and of each SQL statement."""

    def __init__(self, page: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: list[str] = []
        self.attributes: list[dict[str, str | None]] = []
        self.texts: dict[str, list[str]] = {"script": [], "code": [], "title": []}
        self._open: str | None = None
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes.append(dict(attrs))
        self._open = tag if tag in self.texts else self._open
        if tag in self.texts:
            self.texts[tag].append("")

    def handle_endtag(self, tag: str) -> None:
        self._open = None if tag == self._open else self._open

    def handle_data(self, data: str) -> None:
        if self._open is not None:
            self.texts[self._open][-1] += data


@pytest.fixture(scope="module")
def page(scored_home: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    report = write_report(scored_home, None, tmp_path_factory.mktemp("page") / "report.html")
    return report.page.read_text(encoding="utf-8")


def carried(page: str) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(Elements(page).texts["script"][0])
    return data


def unpacked(table: dict[str, Any]) -> list[tuple[Any, ...]]:
    columns = [
        [column["different"][place] for place in column["places"]]
        if "places" in column
        else column["values"]
        for column in table["columns"].values()
    ]
    return list(zip(*columns, strict=True))


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
def test_the_page_holds_what_its_printed_sql_answers_to_the_last_bit(
    page: str, scored_home: Path, query: Any
) -> None:
    sql = printed_sql(query, [STUDY])
    assert sql in Elements(page).texts["code"] or query.name in {
        "publications", "story_sources",
    }  # fmt: skip
    table = answer(scored_home, sql)
    expected = [tuple(map(json_value, row.values())) for row in table.to_pylist()]
    held = unpacked(carried(page)["tables"][query.name])
    # repr tells every bit of a double, and true from 1.
    assert repr(held) == repr(expected)


@pytest.mark.parametrize(
    ("name", "mart", "condition"),
    [
        ("diversity_vectors", "fct_diversity_vectors", "true"),
        ("principal_coordinates", "fct_principal_coordinates", "coordinate_frame = 'pooled_z'"),
        ("credal_overlap_intervals", "fct_credal_overlap_intervals",
         "coordinate_frame = 'pooled_z'"),
        ("temperature_curves", "fct_temperature_curves", "true"),
        ("reliability_bins", "fct_reliability_bins",
         "binning = 'equal_width' and bin_count in (5, 10, 15, 30, 60)"),
    ],
)  # fmt: skip
def test_every_double_of_the_page_is_the_marts(
    page: str, scored_home: Path, name: str, mart: str, condition: str
) -> None:
    table = carried(page)["tables"][name]
    with duckdb.connect(str(snapshot_path(scored_home)), read_only=True) as connection:
        columns = ", ".join(table["columns"])
        rows = connection.execute(
            f"select {columns} from marts.{mart} where {condition}"  # noqa: S608
        ).fetchall()
    assert rows
    assert sorted(map(repr, unpacked(table))) == sorted(map(repr, rows))


def test_the_page_names_no_outside_address(page: str) -> None:
    elements = Elements(page)
    for attributes in elements.attributes:
        for name in ("src", "href", "action", "data"):
            assert (attributes.get(name) or "#").startswith("#")
    assert not {"link", "img", "iframe", "object", "base"} & set(elements.tags)
    assert not re.search(r"url\(|@import", page.split("</style>")[0])


def test_every_mart_that_the_page_reads_is_in_its_exposure() -> None:
    exposures = yaml.safe_load(EXPOSURES.read_text(encoding="utf-8"))["exposures"]
    report = next(exposure for exposure in exposures if exposure["name"] == "report")
    read = {
        mart
        for query in QUERIES
        for mart in re.findall(r"(?:from|join) ((?:dim|fct)_\w+)", query.sql)
    }
    assert {f"ref('{mart}')" for mart in read} == set(report["depends_on"])


def test_every_figure_has_its_sql_and_every_chart_its_table_and_downloads(page: str) -> None:
    elements = Elements(page)
    figures = elements.tags.count("figure")
    roles = [attributes.get("data-role") for attributes in elements.attributes]
    charts = roles.count("chart")
    assert figures == len(carried(page)["figures"])
    assert roles.count("csv") == roles.count("table") == figures
    assert charts == roles.count("svg")
    assert page.count('<details class="query">') == figures


def test_text_from_outside_is_never_markup(small_study_home: Path, tmp_path: Path) -> None:
    home = copied_home(small_study_home, tmp_path / "home")
    quoted = HOSTILE.replace("'", "''")
    with duckdb.connect(str(snapshot_path(home))) as connection:
        texts = connection.execute(
            "select table_name, column_name from duckdb_columns() where schema_name = 'marts' "
            "and column_name in ('study_name', 'story_source_name')"
        ).fetchall()
    write(
        home,
        *(
            f"update marts.{table} set {column} = {column} || '{quoted}' "  # noqa: S608
            f"where {column} is not null and {column} != 'human'"
            for table, column in texts
        ),
    )
    report = write_report(home, None, tmp_path / "report.html")
    elements = Elements(report.page.read_text(encoding="utf-8"))
    assert "b" not in elements.tags
    assert elements.tags.count("script") == 3
    assert elements.texts["title"] == [f"Calibrary report: {STUDY}{HOSTILE}"]
    data = json.loads(elements.texts["script"][0])
    assert data["study_names"] == [STUDY + HOSTILE]
    sources = {row[1] for row in unpacked(data["tables"]["diversity_vectors"])}
    assert f"sample-wide/temperature_1.2{HOSTILE}" in sources
    assert HOSTILE.replace("'", "''") in "".join(elements.texts["code"])


def test_a_study_of_five_hundred_prompts_and_twenty_sources_stays_below_six_megabytes() -> None:
    rng = np.random.default_rng(0)
    keys = list(itertools.product([STUDY], [f"net/{n}" for n in range(21)], range(500)))
    tables = {query.name: ReportTable(query, (), ()) for query in QUERIES}
    for name in ("diversity_vectors", "principal_coordinates"):
        rows = tuple(
            (study, source, f"{prompt:032x}", *rng.random(3).tolist())
            for study, source, prompt in keys
        )
        columns = ("study_name", "story_source_name", "prompt_id", "a", "b", "c")
        tables[name] = ReportTable(tables[name].query, columns, rows)
    prompts = tuple((STUDY, f"{prompt:032x}", "x" * 160) for prompt in range(500))
    tables["prompts"] = ReportTable(
        tables["prompts"].query, ("study_name", "prompt_id", "prompt_text"), prompts
    )
    assert len(rendered_page(tables, [STUDY]).encode()) < 6_000_000


def test_a_snapshot_of_an_older_version_says_which_table_it_lacks(
    small_study_home: Path, tmp_path: Path
) -> None:
    home = copied_home(small_study_home, tmp_path / "home")
    write(home, "drop table marts.fct_credal_overlap_intervals")
    page = write_report(home, None, tmp_path / "report.html").page.read_text(encoding="utf-8")
    assert "This snapshot has no fct_credal_overlap_intervals as this version reads it" in page


def test_an_empty_section_says_so_in_one_sentence(small_study_home: Path, tmp_path: Path) -> None:
    home = copied_home(small_study_home, tmp_path / "home")
    marts = {query.mart for query in CALIBRATION}
    write(home, *(f"delete from marts.{mart}" for mart in marts))  # noqa: S608
    report = write_report(home, None, tmp_path / "report.html")
    page = report.page.read_text(encoding="utf-8")
    told = re.findall(r'data-role="section-absence">\s*(.*?)</p>', page, flags=re.DOTALL)
    assert len(told) == 1
    assert told[0].startswith("This study has no scored tokens: ")


def test_the_same_snapshot_gives_the_same_page(
    scored_home: Path, tmp_path: Path, page: str
) -> None:
    report = write_report(scored_home, [STUDY], tmp_path / "again.html")
    assert report.page.read_text(encoding="utf-8") == page


def test_the_command_writes_beside_the_snapshot_and_tells_where(
    small_study_home: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    home = copied_home(small_study_home, tmp_path / "home")
    assert run_cli(["report", "--home", str(home), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert Path(told["page"]) == home / "report.html"
    assert told["study_names"] == [STUDY]
    assert told["byte_count"] == (home / "report.html").stat().st_size


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--study", "smal_study"],
         "a study of the report must be in the snapshot, got 'smal_study'"),
        (["--output", "absent/report.html"], "absent/report.html must be writable"),
    ],
)  # fmt: skip
def test_an_error_is_one_sentence(
    small_study_home: Path,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    sentence: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run_cli(["report", "--home", str(small_study_home), *arguments]) == 1
    told = capsys.readouterr().err
    assert sentence in told
    assert told.count("\n") == 1


def test_a_home_without_a_snapshot_is_told_to_build(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_cli(["report", "--home", str(tmp_path)]) == 1
    assert "a published snapshot must exist" in capsys.readouterr().err
