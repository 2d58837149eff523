"""Filings as lines of text: which document of a submission, its header, and HTML without markup."""

from __future__ import annotations

import gzip
import re
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path

from flows.corpora.errors import UnreadableInputError

LARGEST_FILING_BYTES = 200_000_000
"""Full submissions with exhibits reach tens of megabytes; more is no filing, or a zip bomb."""

PROSE_CELL_WORDS = 20
"""A table cell with so many words is a paragraph that was laid out, not a figure."""

COVER_LINES = 60
"""Where the form names itself; later lines may name other forms."""

_DOCUMENT = re.compile(r"<DOCUMENT>(.*?)(?=<DOCUMENT>|</DOCUMENT>|\Z)", re.DOTALL | re.IGNORECASE)
_TEXT = re.compile(r"<TEXT>(.*?)(?:</TEXT>|\Z)", re.DOTALL | re.IGNORECASE)
# Plain-text submissions mark tables by <TABLE> too, but no cells.
_LOOKS_LIKE_HTML = re.compile(r"<(?:html|body|div|td|p|font|ix:header)[\s>]", re.IGNORECASE)
_MARKUP = re.compile(r"</?(?:PAGE|TABLE|CAPTION|S|C|FN|F\d+)>", re.IGNORECASE)
_HEADER_FIELDS = {
    "accession_number": r"ACCESSION NUMBER:\s*([\d-]+)",
    "cik": r"CENTRAL INDEX KEY:\s*(\d+)",
    "form_name": r"CONFORMED SUBMISSION TYPE:[ \t]*([^\n]+)",
    "period_of_report": r"CONFORMED PERIOD OF REPORT:\s*(\d{8})",
}
_FORM = re.compile(
    r"\bform\s+(10-?KSB|10-?K405|10-?KT|10-?K|10-?Q|8-?K|20-?F|40-?F|6-?K|S-\d)", re.IGNORECASE
)


@dataclass(frozen=True)
class FilingHeader:
    """What a submission says of itself; None where it does not.

    Attributes
    ----------
    accession_number, cik : str or None
        As filed; the CIK with its leading zeros.
    form_name : str or None
        In capitals, as ``10-K`` or ``10-K405/A``; from the cover page where no header names it.
    period_of_report : str or None
        Eight digits, year, month and day.
    """

    accession_number: str | None = None
    cik: str | None = None
    form_name: str | None = None
    period_of_report: str | None = None


@dataclass(frozen=True)
class FilingLine:
    """One line of a filing.

    Attributes
    ----------
    text : str
        White space collapsed, never empty.
    is_table : bool
        Whether it is a row of figures rather than prose.
    """

    text: str
    is_table: bool


def read_filing(path: Path) -> str:
    """Read a filing, ``.gz`` too; bytes that are not UTF-8 are read as Windows-1252.

    Raises
    ------
    UnreadableInputError
        The file is absent, no whole gzip file, or too large.
    """
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            content = file.read(LARGEST_FILING_BYTES + 1)
    except (OSError, EOFError) as error:
        raise UnreadableInputError(f"{path} must be a readable filing, got: {error}.") from error
    if len(content) > LARGEST_FILING_BYTES:
        raise UnreadableInputError(
            f"{path} must hold at most {LARGEST_FILING_BYTES:,} bytes, got more; leave it out."
        )
    try:
        return content.decode()
    except UnicodeDecodeError:
        return content.decode("cp1252", errors="replace")


def filing_header(content: str, lines: list[FilingLine]) -> FilingHeader:
    """Read the SGML or PEM header; without one, the form from ``<TYPE>`` or the cover page.

    Parameters
    ----------
    content : str
        The whole submission.
    lines : list of FilingLine
        Of its main document, the cover page first.
    """
    head = content[:20_000]
    found = {
        name: match.group(1)
        for name, pattern in _HEADER_FIELDS.items()
        if (match := re.search(pattern, head))
    }
    if "form_name" not in found and (match := re.search(r"<TYPE>[ \t]*([^\n<]+)", head)):
        found["form_name"] = match.group(1)
    if "form_name" not in found:
        cover = " ".join(line.text for line in lines[:COVER_LINES])
        if match := _FORM.search(cover):
            found["form_name"] = re.sub(r"^(\d+)-?", r"\1-", match.group(1))
    if "form_name" in found:
        found["form_name"] = found["form_name"].strip().upper()
    return FilingHeader(**found)


def main_document(content: str) -> str:
    """Return the first document of a submission, which is the filing itself, or all of it."""
    document = _DOCUMENT.search(content)
    inside = document.group(1) if document else content
    text = _TEXT.search(inside)
    return text.group(1) if text else inside


def filing_lines(document: str) -> list[FilingLine]:
    """Turn a document into lines, whether HTML (inline XBRL too) or plain text."""
    if _LOOKS_LIKE_HTML.search(document[:50_000]):
        reader = _HtmlLines()
        reader.feed(document)
        reader.close()
        return reader.finished()
    return _plain_lines(document)


def _plain_lines(document: str) -> list[FilingLine]:
    """Lines of plain text; what stands between the marks of a table is one."""
    lines, is_table = [], False
    for raw in document.splitlines():
        mark = raw.strip().upper()
        if mark.startswith("<TABLE>"):
            is_table = True
        text = " ".join(_MARKUP.sub(" ", raw).split())
        if text:
            lines.append(FilingLine(text, is_table))
        if "</TABLE>" in mark:
            is_table = False
    return lines


class _HtmlLines(HTMLParser):
    """Collects lines; a row of a table is one line, as the reader sees it."""

    _BLOCKS = frozenset(
        {
            "p",
            "div",
            "br",
            "hr",
            "li",
            "ul",
            "ol",
            "h1",
            "h2",
            "h3",
            "h4",
            "h5",
            "h6",
            "table",
            "tr",
            "body",
            "center",
            "blockquote",
            "pre",
        }
    )
    _HIDDEN = frozenset({"script", "style", "head", "title", "ix:header"})

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self._lines: list[FilingLine] = []
        self._cells: list[str] = [""]
        self._table_depth = 0
        self._hidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: object) -> None:  # noqa: ARG002 - its signature
        """Open a tag; blocks end the line, except inside a cell."""
        if tag in self._HIDDEN:
            self._hidden.append(tag)
        elif tag == "table":
            self._end_line()
            self._table_depth += 1
        elif tag in {"td", "th"}:
            self._cells.append("")
        elif tag in self._BLOCKS:
            self._break(tag)

    def handle_endtag(self, tag: str) -> None:
        """Close a tag; what was opened wrongly inside is closed with it."""
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        elif tag == "table":
            self._end_line()
            self._table_depth = max(0, self._table_depth - 1)
        elif tag in self._BLOCKS:
            self._break(tag)

    def handle_data(self, data: str) -> None:
        """Add text to the cell or line at hand."""
        if not self._hidden:
            self._cells[-1] += data

    def finished(self) -> list[FilingLine]:
        """All lines."""
        self._end_line()
        return self._lines

    def _break(self, tag: str) -> None:
        if self._table_depth and tag != "tr":
            self._cells[-1] += "\n"
        else:
            self._end_line()

    def _end_line(self) -> None:
        cells = [cell for cell in self._cells if cell.strip()]
        self._cells = [""]
        if not cells:
            return
        is_prose = any(len(cell.split()) >= PROSE_CELL_WORDS for cell in cells)
        if self._table_depth and not is_prose:
            self._lines.append(FilingLine(" ".join(" ".join(cells).split()), is_table=True))
            return
        for cell in cells:
            for part in cell.split("\n") if self._table_depth else [cell]:
                if text := " ".join(part.split()):
                    self._lines.append(FilingLine(text, is_table=False))
