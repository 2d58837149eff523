"""Claims about filings in the warehouse: every one has a row, and Item 7 is a text to score."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

from flows.corpora.errors import MissingColumnError, UnreadableInputError
from flows.corpora.layouts import FilingsLayout
from flows.ingest_filings import BATCH_FILINGS, ingest_filings
from flows.ingest_ledger import SecondReadingError
from flows.study import StudySettings
from tests.corpora.test_filings import PROSE, TITLE, submission
from tests.ingest.ingest_inputs import rows, write_jsonl
from udfs.identity import document_id, text_id

STATUSES = "select file_name, item_7_status from raw.filings order by file_name, line_number"


def write_folder(folder: Path) -> Path:
    folder.mkdir()
    whole = submission(f"Item 7. {TITLE}\n{PROSE}\nItem 8. Statements")
    pointer = "The text on pages 17 to 23 of the Annual Report is incorporated by reference."
    contents = {
        "a.txt": whole,
        "b.htm": f"<html><p>Form 10-K</p><p>Item 7. {TITLE}</p><p>{PROSE}</p></html>",
        "c.txt": submission(f"Item 7. {TITLE}\n{pointer}\nItem 8. Statements"),
        "d_0000012345-07-000001.txt": "FORM 10-K\nItem 1. Business\nWe make things.",
        "e.txt": submission(f"Item 7. {TITLE}\n{PROSE}", form="10-KSB"),
    }
    for name, content in contents.items():
        (folder / name).write_text(content)
    (folder / "f.txt.gz").write_bytes(gzip.compress(whole.encode())[:-20])
    (folder / "readme.pdf").write_bytes(b"not read")
    return folder


def test_every_filing_has_a_row_with_its_status_and_the_sections_are_texts(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, tmp_path: Path
) -> None:
    layout = FilingsLayout(str(write_folder(tmp_path / "filings")), "edgar")
    report = ingest_filings(warehouse, small, layout)
    assert rows(warehouse, STATUSES) == [
        ("a.txt", "extracted"),
        ("b.htm", "extracted"),
        ("c.txt", "incorporated_by_reference"),
        ("d_0000012345-07-000001.txt", "missing"),
        ("e.txt", "unsupported_form"),
        ("f.txt.gz", "malformed"),
    ]
    assert (report.row_count, report.inserted_count) == (6, 6)
    assert report.notes == ("not read, since they are no filings: readme.pdf",)
    # Two filings with one section: one document, the second said to be a repetition.
    assert report.reject_counts == {
        "duplicate_text": 1, "incorporated_by_reference": 1, "missing": 1, "unsupported_form": 1,
        "malformed": 1,
    }  # fmt: skip
    text = PROSE.strip()
    assert rows(
        warehouse,
        "select test_set_name, document_id, text, file_name from raw.test_set_texts "
        "inner join raw.texts using (text_id)",
    ) == [("edgar", document_id(text_id(text), ""), text, "a.txt")]
    assert rows(
        warehouse,
        "select accession_number, cik, form_name, period_of_report, fiscal_year, "
        "item_7_character_count from raw.filings where file_name = 'a.txt'",
    ) == [("0000950153-99-001234", "0000012345", "10-K", "19990131", 1999, len(text))]
    accession = "select accession_number from raw.filings where item_7_status = 'missing'"
    assert rows(warehouse, accession) == [("0000012345-07-000001",)]
    reason = "select reason from raw.filings where item_7_status = 'malformed'"
    ((why,),) = rows(warehouse, reason)
    assert why.startswith("f.txt.gz must be a readable filing, got:")


def test_reading_again_changes_nothing_and_another_way_is_refused(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, tmp_path: Path
) -> None:
    folder = str(write_folder(tmp_path / "filings"))
    ingest_filings(warehouse, small, FilingsLayout(folder, "edgar"))
    before = rows(warehouse, "from raw.filings order by all")
    assert not ingest_filings(warehouse, small, FilingsLayout(folder, "edgar")).is_new
    assert rows(warehouse, "from raw.filings order by all") == before
    with pytest.raises(SecondReadingError, match="has_tables True"):
        ingest_filings(warehouse, small, FilingsLayout(folder, "edgar", has_tables=True))


def record(number: int, **changes: Any) -> dict[str, Any]:
    return {
        "filename": f"1_10K_2010_0000000001-10-{number:06d}.json",
        "cik": 1,
        "filing_type": "10-K",
        "period_of_report": "2010-01-03",
        "item_7": f"ITEM 7.\n{TITLE}\nReport number {number}. {PROSE}",
    } | changes


def test_records_of_cut_sections_are_filings_too_whatever_the_batch(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, tmp_path: Path
) -> None:
    records = [record(number) for number in range(BATCH_FILINGS + 2)]
    records += [record(90, item_7=""), record(91, filing_type="10-Q", period_of_report=None)]
    path = write_jsonl(tmp_path / "mda.jsonl", records)
    report = ingest_filings(warehouse, small, FilingsLayout(str(path), "mda"))
    assert report.row_count == BATCH_FILINGS + 4
    assert report.reject_counts == {"missing": 1, "unsupported_form": 1}
    assert rows(
        warehouse,
        "select accession_number, cik, fiscal_year, item_7_status, reason, line_number "
        "from raw.filings where line_number in (1, 53, 54) order by line_number",
    ) == [
        ("0000000001-10-000000", "1", 2010, "extracted", "lines 3 to 3 of 3, 115 words", 1),
        ("0000000001-10-000090", "1", 2010, "missing", "the record has no text of Item 7", 53),
        ("0000000001-10-000091", "1", None, "unsupported_form", "form 10-Q is no 10-K", 54),
    ]
    (text,) = rows(
        warehouse,
        "select text from raw.texts where text like 'Report number 51%'",
    )[0]
    assert text == f"Report number 51. {PROSE}".strip()


def test_records_without_a_form_and_folders_without_filings_are_refused(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, tmp_path: Path
) -> None:
    path = write_jsonl(tmp_path / "mda.jsonl", [{"item_7": PROSE}])
    with pytest.raises(MissingColumnError, match="the form, as 10-K"):
        ingest_filings(warehouse, small, FilingsLayout(str(path), "mda"))
    with pytest.raises(UnreadableInputError, match="found none at"):
        ingest_filings(warehouse, small, FilingsLayout(str(tmp_path / "nowhere"), "mda"))


@pytest.mark.shared_data
def test_real_filings_all_get_a_row(
    warehouse: duckdb.DuckDBPyConnection, small: StudySettings, shared_data: Path
) -> None:
    """Of the cleaned sections, some only point to an annual report."""
    folder = shared_data / "edgar"
    ingest_filings(warehouse, small, FilingsLayout(str(folder / "mda"), "mda"))
    ingest_filings(warehouse, small, FilingsLayout(str(folder / "raw_10k"), "raw"))
    with gzip.open(folder / "mda" / "mda.jsonl.gz", "rt") as lines:
        # Sections below 400 characters all point to the annual report; none other is so short.
        sections = [json.loads(line)["item_7"] for line in lines]
    found = dict(
        rows(
            warehouse,
            "select item_7_status, count(*) from raw.filings where test_set_name = 'mda' "
            "and accession_number is not null group by 1",
        )
    )
    pointer_count = sum(len(section) < 400 for section in sections)
    assert found == {
        "extracted": len(sections) - pointer_count,
        "incorporated_by_reference": pointer_count,
    }
    assert rows(warehouse, "select count(*) from raw.filings where test_set_name = 'raw'") == [
        (len(list((folder / "raw_10k").glob("*.gz"))),)
    ]
