"""Filings of a company and a year from EDGAR: which there are, and each of them read."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from flows.corpora.edgar_client import EdgarAccess, EdgarPages
from flows.corpora.errors import EdgarError
from flows.corpora.filing_inputs import FilingInput, FoundFiling, found_filing
from flows.corpora.filing_text import FilingHeader, read_filing
from flows.corpora.filings import FilingSection, Item7Status
from udfs.identity import content_id

FIRST_YEAR = 1993
"""EDGAR's first."""

ANNUAL_FORMS = frozenset({"10-K", "10-K405", "10-KT", "10-KT405"})
"""Without amendments, which mostly hold other items."""

DAYS_TO_FILE = 90
"""Within which an annual report was due for most of EDGAR's time; large filers have fewer."""

SHOWN_COUNT = 5
"""Companies in the name of an input, and notes on what EDGAR does not have; all are rows."""

TICKERS = "files/company_tickers.json"
"""EDGAR's list of tickers: those of today, so that a delisted company goes by its CIK."""

_LISTED = ("accessionNumber", "form", "filingDate", "reportDate")
_ACCESSION = re.compile(r"\d{10}-\d{2}-\d{6}")
_OLDER_PAGE = re.compile(r"CIK\d{10}-submissions-\d{3}\.json")


@dataclass(frozen=True)
class EdgarLayout:
    """Filings of a test set by company and year.

    Attributes
    ----------
    companies : tuple of str
        CIKs or tickers.
    years : tuple of int
        Of the period of report, as ``fiscal_year`` has them.
    test_set_name : str
    access : EdgarAccess
    has_tables : bool
        Whether rows of figures are kept.
    """

    companies: tuple[str, ...]
    years: tuple[int, ...]
    test_set_name: str
    access: EdgarAccess
    has_tables: bool = False

    def __post_init__(self) -> None:
        """Forget order and repetitions: the same filings are the same reading."""
        object.__setattr__(self, "companies", tuple(sorted(set(self.companies))))
        object.__setattr__(self, "years", tuple(sorted(set(self.years))))


@dataclass(frozen=True)
class ListedFiling:
    """One filing in EDGAR's list of a company.

    Attributes
    ----------
    cik : int
    accession_number, form_name : str
    filing_date : str
        As ``2022-02-04``.
    report_date : str
        End of the period; empty where EDGAR does not list it.
    """

    cik: int
    accession_number: str
    form_name: str
    filing_date: str
    report_date: str

    @property
    def fiscal_year(self) -> int:
        """Year in which the period ends; of filings without one, that of 90 days before."""
        if self.report_date:
            return int(self.report_date[:4])
        return (date.fromisoformat(self.filing_date) - timedelta(DAYS_TO_FILE)).year


@dataclass(frozen=True)
class Absence:
    """A company, or a year of it, that EDGAR has no annual report of."""

    company: str
    cik: int | None
    fiscal_year: int | None
    reason: str


def open_edgar_filings(layout: EdgarLayout) -> FilingInput:
    """List the annual reports that *layout* asks for; each is fetched when it is read.

    Raises
    ------
    EdgarError
        A list is not on disk and cannot be fetched.
    """
    pages = EdgarPages(layout.access)
    found: list[ListedFiling | Absence] = []
    for company in layout.companies:
        found += _of_company(pages, company, layout.years)
    listed = [each.accession_number for each in found if isinstance(each, ListedFiling)]
    absences = [each for each in found if isinstance(each, Absence)]
    said = [layout.companies, layout.years, sorted(set(listed))]
    return FilingInput(
        (f"EDGAR {', '.join(_shown(list(layout.companies)))}",),
        hashlib.sha256(json.dumps(said).encode()).hexdigest(),
        0,
        lambda: _read(pages, found, layout.has_tables),
        tuple(_shown([each.reason for each in absences])),
        len(found),
    )


def _shown(names: list[str]) -> list[str]:
    more = len(names) - SHOWN_COUNT
    return [*names[:SHOWN_COUNT], f"and {more} more"] if more > 0 else names


def _of_company(
    pages: EdgarPages, company: str, years: tuple[int, ...]
) -> Iterator[ListedFiling | Absence]:
    cik = _cik(pages, company)
    path = None if cik is None else pages.listing(f"submissions/CIK{cik:010d}.json")
    if cik is None or path is None:
        reason = f"EDGAR knows no company with the CIK or ticker {company!r}"
        yield Absence(company, cik, None, reason)
        return
    listed = list(_listed(pages, cik, path, years))
    day = datetime.fromtimestamp(path.stat().st_mtime, UTC).date()
    for year in years:
        of_year = [each for each in listed if each.fiscal_year == year]
        annual = [each for each in of_year if each.form_name in ANNUAL_FORMS]
        yield from annual
        if not annual:
            others = ", ".join(sorted({each.form_name for each in of_year})) or "nothing"
            reason = (
                f"on {day} EDGAR listed no 10-K of {company} for a period that ends in {year}, "
                f"but {others}"
            )
            yield Absence(company, cik, year, reason)


def _cik(pages: EdgarPages, company: str) -> int | None:
    if company.isascii() and company.isdecimal():
        return int(company)
    path = pages.listing(TICKERS)
    if path is None:
        raise EdgarError(
            f"EDGAR must have a list of tickers to find {company!r} in, got none at {TICKERS}; "
            "give the CIK instead."
        )
    ticker = company.upper().replace(".", "-")
    return _understood(
        path, lambda page: {each["ticker"]: int(each["cik_str"]) for each in page.values()}
    ).get(ticker)


def _listed(
    pages: EdgarPages, cik: int, path: Path, years: tuple[int, ...]
) -> Iterator[ListedFiling]:
    """Read a company's list, and of its older pages those with filings of *years*."""
    listed, older = _understood(path, lambda page: _company(cik, page["filings"]))
    yield from listed
    for page in older:
        # A report is filed in the year its period ends or in the next; late ones after that.
        if page.first_date < f"{years[-1] + 3}" and page.last_date >= f"{years[0]}":
            path_of_older = pages.listing(f"submissions/{page.name}")
            if path_of_older is not None:
                yield from _understood(path_of_older, partial(_rows, cik))


@dataclass(frozen=True)
class _OlderPage:
    """A further page of a company's list, and the dates on which its filings were filed."""

    name: str
    first_date: str
    last_date: str


def _company(cik: int, filings: Any) -> tuple[list[ListedFiling], list[_OlderPage]]:
    pages = [
        _OlderPage(page["name"], page["filingFrom"], page["filingTo"])
        for page in filings["files"]
        if _OLDER_PAGE.fullmatch(page["name"])  # it becomes the name of a file
    ]
    return _rows(cik, filings["recent"]), pages


def _rows(cik: int, columns: Any) -> list[ListedFiling]:
    rows = zip(*(columns[name] for name in _LISTED), strict=True)
    return [ListedFiling(cik, *row) for row in rows if _ACCESSION.fullmatch(row[0])]


Found = TypeVar("Found")


def _understood(path: Path, read: Callable[[Any], Found]) -> Found:
    """Return what *read* makes of a list; one that it cannot make out is not kept."""
    try:
        return read(json.loads(path.read_bytes()))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        path.unlink()
        raise EdgarError(
            "a list of EDGAR must be JSON with the columns known here, got "
            f"{type(error).__name__} ({error}) for {path.name}; run the command again, and if that "
            "does not help, ingest filings from files."
        ) from None


def _read(
    pages: EdgarPages, found: list[ListedFiling | Absence], has_tables: bool
) -> Iterator[FoundFiling]:
    """Fetch and read one filing at a time, so that memory holds no more than one."""
    for place, each in enumerate(found, start=1):
        if isinstance(each, Absence):
            yield _absent(each, place)
            continue
        path = pages.submission(each.cik, each.accession_number)
        header = FilingHeader(
            each.accession_number,
            f"{each.cik:010d}",
            each.form_name,
            each.report_date.replace("-", "") or None,
        )
        name = f"{each.accession_number}.txt"
        if path is None:
            reason = "EDGAR lists the filing and has no text of it"
            section = FilingSection(
                name, header, each.fiscal_year, Item7Status.MALFORMED, reason, 0, 0, ""
            )
            yield FoundFiling(content_id("filing", name), section, 1, 0)
            continue
        filing = found_filing(read_filing(path), name, has_tables, path.stat().st_size)
        yield replace(filing, section=_with_listed(filing.section, header, each.fiscal_year))


def _with_listed(section: FilingSection, listed: FilingHeader, listed_year: int) -> FilingSection:
    """Let EDGAR's list say what the filing's own header does not."""
    header = FilingHeader(
        section.header.accession_number or listed.accession_number,
        section.header.cik or listed.cik,
        section.header.form_name or listed.form_name,
        section.header.period_of_report or listed.period_of_report,
    )
    period = header.period_of_report
    year = int(period[:4]) if period else listed_year
    return replace(section, header=header, fiscal_year=year)


def _absent(absence: Absence, place: int) -> FoundFiling:
    header = FilingHeader(cik=None if absence.cik is None else f"{absence.cik:010d}")
    section = FilingSection(
        f"EDGAR {absence.company}",
        header,
        absence.fiscal_year,
        Item7Status.MISSING,
        absence.reason,
        0,
        0,
        "",
    )
    identity = content_id("filing", absence.company, absence.cik, absence.fiscal_year)
    return FoundFiling(identity, section, place, 0)
