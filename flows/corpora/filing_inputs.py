"""Filings of a test set: files that are one filing each, or records of sections cut elsewhere."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from flows.corpora import values
from flows.corpora.errors import UnreadableInputError
from flows.corpora.files import (
    InputFile,
    bare_suffix,
    content_sha256,
    find_files,
    require_input,
)
from flows.corpora.filing_text import FilingHeader, read_filing
from flows.corpora.filings import FilingSection, Item7Status, cleaned_section, item_7
from flows.corpora.layouts import FilingsLayout, Place, find_column
from flows.corpora.records import column_names, read_records
from udfs.identity import content_id, text_id

FILING_SUFFIXES = frozenset({".txt", ".htm", ".html", ".nc", ".sgml"})
"""Full submissions, plain text, HTML and inline XBRL; ``.gz`` of each too."""

ACCESSION_COLUMNS = ("accession_number", "accession", "filename")
"""The first of these that records have: the name of a downloaded file holds the number too."""

_ACCESSION = re.compile(r"\d{10}-\d{2}-\d{6}")
_DATE = re.compile(r"(\d{4})-?(\d{2})-?(\d{2})")


@dataclass(frozen=True)
class FoundFiling:
    """One filing, read.

    Attributes
    ----------
    filing_id : str
        Hash of what the filing says of itself and of its content.
    section : FilingSection
    line_number : int
        Of its record in the file, from 1; 1 where the file is the filing.
    byte_count : int
        Bytes of input files just read.
    """

    filing_id: str
    section: FilingSection
    line_number: int
    byte_count: int


@dataclass(frozen=True)
class FilingInput:
    """Everything behind one layout."""

    file_names: tuple[str, ...]
    content_sha256: str
    byte_count: int
    read_filings: Callable[[], Iterator[FoundFiling]]
    notes: tuple[str, ...] = ()
    filing_count: int | None = None
    """Where it is known before reading."""


def open_filings(layout: FilingsLayout) -> FilingInput:
    """Find the filings that *layout* names and fingerprint their bytes.

    Raises
    ------
    UnreadableInputError
        Nothing is there, or no file of a known ending.
    MissingColumnError
        Records lack a section or a form; the sentence says what was found.
    """
    path = Path(layout.path).expanduser()
    require_input(path)
    inside = sorted(path.iterdir()) if path.is_dir() else [path]
    there = [each for each in inside if each.is_file() and not each.name.startswith(".")]
    whole = [each for each in there if bare_suffix(each) in FILING_SUFFIXES]
    if whole:
        left = [each.name for each in there if each not in whole]
        read = partial(_whole_filings, whole, layout.has_tables)
        return _input(whole, read, left)
    found = find_files(path)
    columns = {file: _columns(file) for file in found.files}
    return _input(
        [file.path for file in found.files],
        lambda: (each for file in found.files for each in _records(file, columns[file])),
        list(found.skipped_names),
    )


def _input(
    paths: list[Path], read: Callable[[], Iterator[FoundFiling]], left: list[str]
) -> FilingInput:
    notes = (f"not read, since they are no filings: {', '.join(left)}",) if left else ()
    return FilingInput(
        tuple(path.name for path in paths),
        content_sha256(paths),
        sum(path.stat().st_size for path in paths),
        read,
        notes,
    )


def _whole_filings(paths: list[Path], has_tables: bool) -> Iterator[FoundFiling]:
    """Read one filing at a time, so that memory holds no more than one."""
    for path in paths:
        size = path.stat().st_size
        try:
            content = read_filing(path)
        except UnreadableInputError as error:
            # One damaged file must not hide the others: its row says what is wrong with it.
            yield FoundFiling(content_id("filing", path.name), _unreadable(path, error), 1, size)
            continue
        yield found_filing(content, path.name, has_tables, byte_count=size)


def found_filing(
    content: str, file_name: str, has_tables: bool, byte_count: int = 0
) -> FoundFiling:
    """Take Item 7 out of one filing; the file's name may give the accession number."""
    section = item_7(content, file_name, has_tables)
    header = section.header
    if header.accession_number is None and (match := _ACCESSION.search(file_name)):
        header = replace(header, accession_number=match.group(0))
    section = replace(section, header=header)
    return FoundFiling(_identity(header, content), section, 1, byte_count)


def _identity(header: FilingHeader, content: str) -> str:
    return content_id(
        "filing",
        header.accession_number,
        header.cik,
        header.form_name,
        header.period_of_report,
        text_id(content),
    )


def _unreadable(path: Path, error: UnreadableInputError) -> FilingSection:
    match = _ACCESSION.search(path.name)
    header = FilingHeader(accession_number=match.group(0) if match else None)
    reason = str(error).replace(str(path), path.name)
    return FilingSection(path.name, header, None, Item7Status.MALFORMED, reason, 0, 0, "")


def _columns(file: InputFile) -> dict[str, str]:
    """Return the column of every field that *file* has."""
    names, place = column_names(file, None), Place(str(file.path))
    needed = {"item_7": True, "form": True}
    fields = ("item_7", "form", "period_of_report", "cik")
    found = {
        field: find_column(field, names, None, place, is_needed=needed.get(field, False))
        for field in fields
    }
    known = [name for name in ACCESSION_COLUMNS if name in names]
    return {field: name for field, name in found.items() if name} | (
        {"accession_number": known[0]} if known else {}
    )


def _records(file: InputFile, columns: dict[str, str]) -> Iterator[FoundFiling]:
    for batch in read_records(file, columns=sorted(set(columns.values()))):
        said = {
            field: (values.ids if field == "cik" else values.texts)(batch, name)
            for field, name in columns.items()
        }
        count = len(batch.records)
        said |= {
            field: [None] * count
            for field in ("period_of_report", "cik", "accession_number")
            if field not in said
        }
        for place, line_number in enumerate(batch.line_numbers):
            header = FilingHeader(
                _matched(_ACCESSION, said["accession_number"][place]),
                said["cik"][place],
                _form(said["form"][place]),
                _date(said["period_of_report"][place]),
            )
            content = said["item_7"][place] or ""
            size = batch.byte_count if place == 0 else 0
            if content.strip():
                section = cleaned_section(content, file.name, header)
            else:
                period = header.period_of_report
                year = int(period[:4]) if period else None
                reason = "the record has no text of Item 7"
                section = FilingSection(
                    file.name, header, year, Item7Status.MISSING, reason, 0, 0, ""
                )
            yield FoundFiling(_identity(header, content), section, line_number, size)


def _matched(pattern: re.Pattern[str], given: str | None) -> str | None:
    match = pattern.search(given or "")
    return match.group(0) if match else None


def _form(given: str | None) -> str | None:
    return given.strip().upper() if given and given.strip() else None


def _date(given: str | None) -> str | None:
    match = _DATE.match((given or "").strip())
    return "".join(match.groups()) if match else None
