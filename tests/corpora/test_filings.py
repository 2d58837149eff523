"""Claims about Item 7: what is a heading, where a section ends, what each status means."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from flows.corpora.errors import UnreadableInputError
from flows.corpora.filing_text import FilingHeader, filing_lines, main_document, read_filing
from flows.corpora.filings import (
    FilingSection,
    Item7Status,
    cleaned_section,
    filing_section,
    item_7,
)

PROSE = "Net sales rose because customers bought more of what we make in every region. " * 8
TITLE = "Management's Discussion and Analysis of Financial Condition and Results of Operations"
HEADER = """<SEC-HEADER>
ACCESSION NUMBER:\t\t0000950153-99-001234
CONFORMED SUBMISSION TYPE:\t10-K
CONFORMED PERIOD OF REPORT:\t19990131
CENTRAL INDEX KEY:\t0000012345
</SEC-HEADER>
"""


def submission(body: str, form: str = "10-K") -> str:
    header = HEADER.replace("10-K", form)
    return f"{header}<DOCUMENT>\n<TYPE>{form}\n<TEXT>\n{body}\n</TEXT>\n</DOCUMENT>"


def found(body: str, **options: bool) -> FilingSection:
    return item_7(submission(body), "made", **options)


def test_the_header_says_whose_filing_it_is_and_of_which_year() -> None:
    section = found(f"Item 7. {TITLE}\n{PROSE}\nItem 8. Financial Statements")
    header = section.header
    assert (header.accession_number, header.cik) == ("0000950153-99-001234", "0000012345")
    assert (header.form_name, header.period_of_report) == ("10-K", "19990131")
    assert section.fiscal_year == 1999


def test_a_table_of_contents_is_not_item_7_and_item_7a_ends_it() -> None:
    section = found(
        f"Item 7. {TITLE} 12\nItem 7A. Market Risk 20\nItem 8. Financial Statements 21\n"
        f"Item 7. {TITLE}\n{PROSE}\nItem 7A. Market Risk\nRates move.\nItem 8. Statements"
    )
    assert section.item_7_status is Item7Status.EXTRACTED
    assert section.text == PROSE.strip()
    assert section.item_7_character_count == len(section.text)


@pytest.mark.parametrize(
    "heading",
    [
        f"ITEM 7. {TITLE.upper()}",
        f"PART II, Item 7 - {TITLE}",
        f"Item 7:\n{TITLE}",
        "ITEM 7.  MANAGEMENT'S DISCUSSION AND ANALYSIS OF FINANCIAL\n"
        "  CONDITION AND RESULTS OF OPERATIONS",
        f"Item\u00a07. {TITLE.replace(chr(39), chr(0x2019))}",
        TITLE,
    ],
)
def test_headings_are_known_in_every_usual_shape(heading: str) -> None:
    section = found(f"{heading}\n{PROSE}\nItem 8. Financial Statements\nNone.")
    assert (section.item_7_status, section.text) == (Item7Status.EXTRACTED, PROSE.strip())


def test_a_mention_within_a_paragraph_neither_opens_nor_ends_a_section() -> None:
    mention = "Item 8 of this report holds the statements."
    section = found(f"Item 7. {TITLE}\n{PROSE}\n{mention}\nMore of the same.\nItem 8. Statements")
    assert section.text.splitlines()[1:] == [mention, "More of the same."]


@pytest.mark.parametrize(
    "pointer",
    [
        "The text on pages 17 to 23 of the Annual Report is incorporated herein by reference.",
        "See the section under that title which appears in Exhibit 13. It is part of this report.",
    ],
)
def test_a_pointer_to_the_annual_report_is_incorporated_by_reference(pointer: str) -> None:
    section = found(f"Item 7. {TITLE}\n{pointer}\nItem 8. Statements")
    assert section.item_7_status is Item7Status.INCORPORATED_BY_REFERENCE
    assert section.text == ""


def test_other_statuses_say_why() -> None:
    body = f"Item 7. {TITLE}\n{PROSE}\nItem 8. Statements"
    missing = found("Item 1. Business\nWe make things.")
    other = item_7(submission(body, "10-KSB"), "made")
    empty = item_7("\x00\x01\x02", "made")
    assert (missing.item_7_status, missing.reason) == (
        Item7Status.MISSING,
        "no heading of Item 7 in 2 lines",
    )
    assert (other.item_7_status, other.reason) == (
        Item7Status.UNSUPPORTED_FORM,
        "form 10-KSB is no 10-K",
    )
    assert empty.item_7_status is Item7Status.MALFORMED


def test_only_the_first_document_of_a_submission_is_the_filing() -> None:
    exhibit = f"<DOCUMENT>\n<TYPE>EX-13\n<TEXT>\nItem 7. {TITLE}\n{PROSE}\n</TEXT>\n</DOCUMENT>"
    content = submission("Item 1. Business\nWe make things.") + exhibit
    assert item_7(content, "made").item_7_status is Item7Status.MISSING


def test_rows_of_figures_are_kept_only_where_asked_and_prose_in_tables_always() -> None:
    body = (
        f"<html><body><p>Item 7. {TITLE}</p><table><tr><td>{PROSE}</td></tr>"
        "<tr><td>Sales</td><td>1,204</td></tr></table><p>Item 8. Statements</p></body></html>"
    )
    assert found(body).text == PROSE.strip()
    assert found(body, has_tables=True).text == f"{PROSE.strip()}\nSales 1,204"


def test_hidden_facts_of_inline_xbrl_are_no_text() -> None:
    body = "<html><ix:header><ix:hidden>secret</ix:hidden></ix:header><p>shown</p></html>"
    assert [line.text for line in filing_lines(body)] == ["shown"]


def test_a_gzip_file_that_is_cut_off_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "filing.txt.gz"
    path.write_bytes(gzip.compress(submission(PROSE).encode())[:-20])
    with pytest.raises(UnreadableInputError, match=r"filing\.txt\.gz"):
        read_filing(path)


@pytest.mark.shared_data
def test_real_filings_have_the_status_that_their_checks_ask_for(shared_data: Path) -> None:
    """Every file of raw_10k_checks that says something about Item 7."""
    sections = {
        path.name.split(".")[0]: filing_section(path)
        for path in sorted((shared_data / "edgar" / "raw_10k").glob("*.gz"))
    }
    looked_at = 0
    for path in sorted((shared_data / "edgar" / "raw_10k_checks").glob("*.json")):
        oracle = json.loads(path.read_text())
        section = sections[oracle["filing"]]
        is_there = section.item_7_status in {
            Item7Status.EXTRACTED,
            Item7Status.INCORPORATED_BY_REFERENCE,
        }
        for check in oracle["checks"]:
            if check["type"] in {"expected_set_complete", "only_items"}:
                assert is_there == ("7" in check["items"]), path.name
            elif check.get("item") != "7":
                continue
            elif check["type"] == "text_not_contains":
                assert check["value"] not in section.text, path.name
            else:
                assert section.item_7_status.value == check.get(
                    "status", section.item_7_status.value
                ), path.name
                assert is_there, path.name
            looked_at += 1
    assert looked_at >= 38


@pytest.mark.shared_data
def test_no_extracted_section_of_a_real_filing_runs_into_the_next_item(shared_data: Path) -> None:
    for path in sorted((shared_data / "edgar" / "raw_10k").glob("*.gz")):
        section = filing_section(path)
        if section.item_7_status is Item7Status.EXTRACTED:
            assert section.item_7_character_count < section.filing_character_count / 2
            for line in section.text.splitlines():
                assert not line.upper().startswith(("ITEM 7A", "ITEM 8")), path.name


@pytest.mark.shared_data
def test_real_submissions_of_other_forms_are_unsupported(shared_data: Path) -> None:
    folder = shared_data / "edgar" / "edgartools"
    for path in sorted(folder.glob("data__sgml__*.gz")):
        section = filing_section(path)
        if section.header.form_name != "10-K":
            assert section.item_7_status is Item7Status.UNSUPPORTED_FORM, path.name


def test_the_main_document_of_a_bare_page_is_all_of_it() -> None:
    assert main_document("<p>All of it</p>") == "<p>All of it</p>"


@pytest.mark.shared_data
def test_cleaned_sections_lose_their_heading_and_pointers_are_told_apart(shared_data: Path) -> None:
    with gzip.open(shared_data / "edgar" / "mda" / "mda.jsonl.gz", "rt") as lines:
        filings = [json.loads(line) for line in lines]
    assert len(filings) == 42
    for filing in filings:
        header = FilingHeader(
            cik=filing["cik"],
            form_name=filing["filing_type"],
            period_of_report=filing["period_of_report"].replace("-", ""),
        )
        section = cleaned_section(filing["item_7"], filing["filename"], header)
        assert section.fiscal_year == filing["fiscal_year"]
        # Sections below 400 characters all point to the annual report; none other is so short.
        is_pointer = len(filing["item_7"]) < 400
        assert section.item_7_status is (
            Item7Status.INCORPORATED_BY_REFERENCE if is_pointer else Item7Status.EXTRACTED
        ), section
        assert not section.text.upper().startswith("ITEM 7")
        if not is_pointer:
            assert section.item_7_character_count > 0.95 * len(filing["item_7"])
