"""Claims about filings fetched from EDGAR: who asks, how often, what is kept, what is said."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from flows import doctor
from flows.cli import run_cli
from flows.corpora.edgar_client import EdgarAccess, EdgarPages
from flows.corpora.edgar_filings import EdgarLayout, ListedFiling, open_edgar_filings
from flows.corpora.errors import EdgarError
from flows.doctor import UnwellError
from flows.ingest_filings import ingest_filings
from flows.ingest_stages import ingest_study, is_ingested
from flows.progress import REPORTER, Reporter
from flows.settings import Settings, load_settings
from flows.study import StudyError, StudySettings, load_study
from tests.corpora.test_filings import PROSE
from tests.ingest.edgar_site import (
    ACME,
    FOREIGN,
    UNKNOWN,
    EdgarSite,
    accession,
    running_site,
    text_path,
    usual_pages,
)
from tests.ingest.ingest_inputs import raw_state, rows
from warehouse.connection import open_warehouse, work_path

IDENTITY = "Jane Doe jane.doe@example.org"
ACME_LIST = f"CIK{ACME:010d}.json"

STATUSES = "select accession_number, cik, fiscal_year, item_7_status from raw.filings order by all"


@pytest.fixture(scope="module")
def running() -> Iterator[EdgarSite]:
    """One site for all: edgartools reads where EDGAR is once, when it is imported."""
    assert "edgar" not in sys.modules
    with running_site() as site, pytest.MonkeyPatch.context() as patch:
        patch.setenv("EDGAR_BASE_URL", site.address)
        patch.setenv("EDGAR_DATA_URL", site.address)
        patch.delenv("HTTPS_PROXY", raising=False)
        yield site


@pytest.fixture
def site(running: EdgarSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> EdgarSite:
    running.pages, running.requests = usual_pages(), []
    running.faults.clear()
    monkeypatch.setenv("EDGAR_LOCAL_DATA_DIR", str(tmp_path / "edgartools"))
    monkeypatch.setenv("CALIBRARY_EDGAR_IDENTITY", IDENTITY)
    monkeypatch.setenv("CALIBRARY_EDGAR_RETRY_SECONDS", "0")
    return running


def layout(tmp_path: Path, *years: int, company: str = str(ACME), **access: float) -> EdgarLayout:
    chosen = {"identity": IDENTITY, "retry_seconds": 0.0, "requests_per_second": 10} | access
    return EdgarLayout(
        (company,),
        years,
        "edgar",
        EdgarAccess(tmp_path / "edgar", **chosen),  # type: ignore[arg-type]
    )


def test_order_and_repetitions_are_no_other_reading(tmp_path: Path) -> None:
    access = EdgarAccess(tmp_path)
    one = EdgarLayout(("MSFT", "AAPL", "MSFT"), (2021, 2020), "edgar", access)
    assert one == EdgarLayout(("AAPL", "MSFT"), (2020, 2021, 2021), "edgar", access)


def test_the_command_fetches_companies_and_years_and_records_what_is_not_there(
    site: EdgarSite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["ingest", "filings", "--home", str(tmp_path), "--json"]
    for company in ("ac.me", str(FOREIGN), str(UNKNOWN), "NOPE"):
        command += ["--company", company]
    command += ["--year", "2021", "--year", "2020", "--year", "2005"]
    assert run_cli(command) == 0
    (ingest,) = json.loads(capsys.readouterr().out)["ingests"]
    assert ingest["rejects"] == {"missing": 7}
    assert {request.user_agent for request in site.requests} == {IDENTITY}
    asked = site.paths()
    assert len(asked) == len(set(asked)) == 6
    with open_warehouse(work_path(tmp_path)) as connection:
        acme, foreign = f"{ACME:010d}", f"{FOREIGN:010d}"
        # Amendments and quarterly reports are not fetched.
        assert rows(connection, STATUSES) == [
            (accession(1), acme, 2021, "extracted"),
            (accession(3), acme, 2020, "missing"),
            (None, foreign, 2005, "missing"),
            (None, foreign, 2020, "missing"),
            (None, foreign, 2021, "missing"),
            (None, f"{UNKNOWN:010d}", None, "missing"),
            (None, acme, 2005, "missing"),
            (None, None, None, "missing"),
        ]
        reasons = {row[0] for row in rows(connection, "select reason from raw.filings")}
        for company in (UNKNOWN, "NOPE"):
            assert f"EDGAR knows no company with the CIK or ticker '{company}'" in reasons
        assert any(f"no 10-K of {FOREIGN} for a period that ends in 2021, but 20-F" in each
                   for each in reasons)  # fmt: skip
        text = "select text, file_name from raw.test_set_texts inner join raw.texts using (text_id)"
        assert rows(connection, text) == [(f"Of 2021. {PROSE}".strip(), f"{accession(1)}.txt")]
    # Nothing is new, so nothing is asked: the lists are of today, the filings are kept.
    assert run_cli(command) == 0
    assert not json.loads(capsys.readouterr().out)["ingests"][0]["is_new"]
    assert site.requests == []


def test_what_is_kept_is_not_fetched_again_and_ends_with_the_filing_itself(
    site: EdgarSite, tmp_path: Path, warehouse: duckdb.DuckDBPyConnection, small: StudySettings
) -> None:
    ingest_filings(warehouse, small, layout(tmp_path, 2021))
    assert site.paths() == [ACME_LIST, f"{accession(1)}.txt"]
    ingest_filings(warehouse, small, layout(tmp_path, 2021, 1998))
    # The list of long ago is another page; EDGAR names no period there, so the header does.
    older = f"CIK{ACME:010d}-submissions-001.json"
    assert site.paths() == [older, f"{accession(5)}.txt"]
    assert rows(warehouse, "select fiscal_year, item_7_status from raw.filings order by 1") == [
        (1998, "extracted"),
        (2021, "extracted"),
    ]
    # Too old a list is asked for again, the filing is not.
    open_edgar_filings(layout(tmp_path, 2021, listing_hours=0.0))
    assert site.paths() == [ACME_LIST]
    (found,) = open_edgar_filings(layout(tmp_path, 2021)).read_filings()
    whole = len(site.pages[text_path(1)])
    kept = EdgarPages(layout(tmp_path).access).submission(ACME, accession(1))
    assert kept is not None
    assert b"secret of the exhibit" not in gzip.decompress(kept.read_bytes())
    assert 0 < found.section.filing_character_count < whole
    assert site.requests == []


def test_a_connection_that_breaks_half_way_costs_what_it_broke_and_nothing_else(
    site: EdgarSite, tmp_path: Path, warehouse: duckdb.DuckDBPyConnection, small: StudySettings
) -> None:
    site.faults[text_path(1)] = ["cut", "cut", "cut", "cut"]
    asked = layout(tmp_path, 2020, 2021)
    with pytest.raises(EdgarError, match=r"got RemoteProtocolError .*what was fetched is kept"):
        ingest_filings(warehouse, small, asked)
    assert site.paths() == [ACME_LIST, f"{accession(3)}.txt", *[f"{accession(1)}.txt"] * 4]
    report = ingest_filings(warehouse, small, asked)
    assert site.paths() == [f"{accession(1)}.txt"]
    assert report.row_count == 2
    with open_warehouse(tmp_path / "other.duckdb") as other:
        ingest_filings(other, small, layout(tmp_path / "other", 2020, 2021))
        assert raw_state(other) == raw_state(warehouse)


@pytest.mark.parametrize("fault", ["cut", "empty", 429, 500, 502, 503, 504])
def test_a_busy_site_is_asked_again(site: EdgarSite, tmp_path: Path, fault: int | str) -> None:
    site.faults[text_path(1)] = [fault, fault, fault]
    (found,) = open_edgar_filings(layout(tmp_path, 2021)).read_filings()
    assert found.section.text == f"Of 2021. {PROSE}".strip()
    assert len(site.requests) == 5


@pytest.mark.parametrize(("status", "attempt_count"), [(403, 1), (503, 4)])
def test_a_refusal_is_one_sentence_and_asked_again_only_where_that_may_help(
    site: EdgarSite, tmp_path: Path, status: int, attempt_count: int
) -> None:
    site.faults[f"/submissions/{ACME_LIST}"] = [status] * 9
    with pytest.raises(EdgarError, match=f"got status {status} for http.*{ACME_LIST}") as caught:
        open_edgar_filings(layout(tmp_path, 2021))
    assert "\n" not in str(caught.value)
    assert len(site.requests) == attempt_count


def test_no_server_at_all_is_one_sentence(
    site: EdgarSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from edgar import config

    monkeypatch.setattr(config, "SEC_DATA_URL", "http://127.0.0.1:1")
    with pytest.raises(EdgarError, match=r"got ConnectError .*127\.0\.0\.1:1/submissions"):
        open_edgar_filings(layout(tmp_path / "new", 2021))


def test_a_listed_filing_without_a_text_has_a_row(site: EdgarSite, tmp_path: Path) -> None:
    del site.pages[text_path(1)]
    (found,) = open_edgar_filings(layout(tmp_path, 2021)).read_filings()
    section = found.section
    assert (section.item_7_status, section.fiscal_year) == ("malformed", 2021)
    assert (section.header.accession_number, section.header.form_name) == (accession(1), "10-K")


def test_a_list_that_is_another_page_is_refused_and_not_kept(
    site: EdgarSite, tmp_path: Path
) -> None:
    page = f"/submissions/{ACME_LIST}"
    for content, sentence in ((b"<html>busy</html>", "must be JSON"), (b"{}", "'filings'")):
        site.pages[page] = content
        with pytest.raises(EdgarError, match=sentence):
            open_edgar_filings(layout(tmp_path, 2021))
    site.pages |= usual_pages()
    assert len(list(open_edgar_filings(layout(tmp_path, 2021)).read_filings())) == 1


def test_no_second_holds_more_requests_than_the_rate(site: EdgarSite, tmp_path: Path) -> None:
    pages = EdgarPages(layout(tmp_path, requests_per_second=5).access)
    for number in range(11):
        assert pages.submission(UNKNOWN, accession(number, UNKNOWN)) is None
    times = [request.at for request in site.requests]
    # The limiter counts whole milliseconds, and the way to the site varies by a few.
    assert all(later - earlier > 0.95 for earlier, later in zip(times[:-5], times[5:], strict=True))


@pytest.mark.parametrize(
    "identity", [None, "", "Jane", "jane.doe@example.org", "Jane\nDoe j@e.org", "Jane Doe\nj@e.org"]
)
def test_without_a_name_and_an_address_nothing_is_asked(
    site: EdgarSite, tmp_path: Path, identity: str | None
) -> None:
    with pytest.raises(EdgarError, match="CALIBRARY_EDGAR_IDENTITY must be a name and an e-mail"):
        open_edgar_filings(layout(tmp_path, 2021, identity=identity))  # type: ignore[arg-type]
    assert site.requests == []


def test_without_edgartools_a_sentence_says_what_to_install(
    site: EdgarSite, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "edgar.config", None)
    with pytest.raises(EdgarError, match=r"pip install 'calibrary\[edgar\]'"):
        open_edgar_filings(layout(tmp_path / "new", 2021))


@pytest.mark.parametrize(
    ("filing_date", "report_date", "fiscal_year"),
    [
        ("2022-02-20", "2021-12-31", 2021),
        ("2022-04-20", "2022-01-29", 2022),
        # No period: the year whose end lies 90 days before.
        ("1996-03-29", "", 1995),
        ("1996-09-27", "", 1996),
    ],
)
def test_the_fiscal_year_is_that_in_which_the_period_ends(
    filing_date: str, report_date: str, fiscal_year: int
) -> None:
    filing = ListedFiling(ACME, accession(1), "10-K", filing_date, report_date)
    assert filing.fiscal_year == fiscal_year


STUDY = """study_name: filed
test_sets:
  - name: acme
    edgar: {companies: [AC-ME], years: [2021]}
trained_language_models:
  - {name: trigram, kind: kneser_ney_trigram}
"""


def test_a_study_file_names_companies_and_years(
    site: EdgarSite, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "study.yml"
    path.write_text(STUDY)
    settings, study = load_settings(tmp_path), load_study(path)
    token = REPORTER.set(Reporter())
    try:
        ingest_study(settings, study)
    finally:
        REPORTER.reset(token)
    assert "Reading acme from EDGAR: 1 filings in" in capsys.readouterr().err
    site.requests.clear()
    with open_warehouse(work_path(tmp_path)) as connection:
        assert is_ingested(connection, settings, study)
        assert rows(connection, "select test_set_name, item_7_status from raw.filings") == [
            ("acme", "extracted")
        ]
    assert site.requests == []


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ("companies: [ON], years: [2021]", "in quotes: YAML takes the ticker ON for true"),
        ("companies: [0000012345], years: [2021]", "and so read 5349"),
        ("companies: ['A B'], years: [2021]", "got 'A B'"),
        ("companies: [AC-ME], years: [1992]", "got 1992"),
        ("companies: [AC-ME]", "years must be valid"),
        ("companies: [], years: [2021]", "companies must be valid"),
    ],
)
def test_a_mistake_in_a_study_file_is_one_sentence(
    tmp_path: Path, written: str, sentence: str
) -> None:
    path = tmp_path / "study.yml"
    path.write_text(STUDY.replace("companies: [AC-ME], years: [2021]", written))
    with pytest.raises(StudyError, match=sentence) as caught:
        load_study(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "given", [[], ["--company", "1"], ["--year", "2021"], ["here", "--company", "1"]]
)
def test_a_path_or_companies_and_years_must_be_given(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], given: list[str]
) -> None:
    assert run_cli(["ingest", "filings", "--home", str(tmp_path), *given]) == 2
    assert "must be a PATH, or the annual reports of" in " ".join(capsys.readouterr().err.split())


def test_the_doctor_says_whether_filings_can_be_fetched(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def edgar(identity: str | None) -> str:
        return doctor._edgar(Settings(home=tmp_path, edgar_identity=identity))

    assert "set CALIBRARY_EDGAR_IDENTITY" in edgar(None)
    assert edgar(IDENTITY).endswith(f"asked as {IDENTITY}")
    with pytest.raises(UnwellError, match="must be a name and an e-mail address"):
        edgar("nobody")
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert "pip install 'calibrary[edgar]'" in edgar(IDENTITY)
