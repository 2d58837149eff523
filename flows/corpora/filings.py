"""Item 7 of a 10-K: management's discussion and analysis, or why there is none."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from flows.corpora.filing_text import (
    FilingHeader,
    FilingLine,
    filing_header,
    filing_lines,
    main_document,
    read_filing,
)

SHORTEST_SECTION_WORDS = 25
"""A section of fewer words, pointing nowhere, is an entry of a table of contents."""

LONGEST_POINTER_WORDS = 250
"""A longer section that refers elsewhere still has text of its own."""

LONGEST_HEADING = 200
"""Characters; a paragraph that begins with "Item 7" is no heading."""

_ITEM = re.compile(
    r"^\W*(?:part\s+[iv]+\W+)?items?\s*(\d{1,2})\s*(?:\(?([a-c])\)?(?=\W|$))?[\s.:()–—-]*(.*)$",
    re.IGNORECASE,
)
_DISCUSSION = re.compile(
    r"management(?:.{0,3}s)?\s+(?:discussion\s+(?:of\s+|o)?and\s+analysis|narrative\s+analysis)"
    r"|plan\s+of\s+operation",
    re.IGNORECASE,
)
_BARE_DISCUSSION = re.compile(
    r"^\W*management(?:.{0,3}s)?\s+discussion\s+(?:of\s+)?and\s+analysis\s+of\s+(?:\w+\W+)?financial\s+"
    r"condition(?:\s+and\s+results\s+of\s+operations?)?\W*(?:\d{1,3})?$",
    re.IGNORECASE,
)
_BARE_NEXT = re.compile(
    r"^\W*(?:quantitative\s+and\s+qualitative\s+disclosures?\s+about\s+market\s+risks?"
    r"|(?:consolidated\s+)?financial\s+statements\s+and\s+supplementary\s+(?:data|schedules?))\W*$",
    re.IGNORECASE,
)
_TITLE = re.compile(r"^\W*management(?:.{0,3}s)?\s+discussion.{0,100}$", re.IGNORECASE)
_REST_OF_TITLE = re.compile(
    r"^\W*(?:of\s+)?(?:financial\s+)?(?:condition\s+)?(?:and\s+)?(?:the\s+)?results?\s+of\s+operations?\W*$",
    re.IGNORECASE,
)
_POINTER = re.compile(
    r"incorporated\s+(?:herein\s+|in\s+this\s+\S+\s+)?by\s+(?:this\s+)?reference"
    r"|annual\s+report\s+to\s+(?:\w+\s+)?(?:share|stock)|exhibit\s+\(?13|\bpages?\s+[\dF]"
    r"|appears?\s+(?:in|on|under)|set\s+forth\s+(?:in|on|under)",
    re.IGNORECASE,
)
_ANNUAL_FORM = re.compile(r"^10-?K(?:405|T|T405)?(?:/A)?$")


class Item7Status(StrEnum):
    """What came of looking for Item 7."""

    EXTRACTED = "extracted"
    """Its text is here."""
    INCORPORATED_BY_REFERENCE = "incorporated_by_reference"
    """Item 7 only points to another document, as the annual report."""
    MISSING = "missing"
    """An annual report without an Item 7 that could be found."""
    UNSUPPORTED_FORM = "unsupported_form"
    """Another form, or one that cannot be told."""
    MALFORMED = "malformed"
    """Not a text with any lines."""


@dataclass(frozen=True)
class FilingSection:
    """Item 7 of one filing.

    Attributes
    ----------
    file_name : str
    header : FilingHeader
    fiscal_year : int or None
        Year in which the period of report ends, also where that is a January and the company
        names its year by the one before.
    item_7_status : Item7Status
    reason : str
        Why the status is what it is, with the lines or words found.
    filing_character_count, item_7_character_count : int
        Of the main document's text and of the section.
    text : str
        The section without its heading, one paragraph a line; empty unless extracted.
    """

    file_name: str
    header: FilingHeader
    fiscal_year: int | None
    item_7_status: Item7Status
    reason: str
    filing_character_count: int
    item_7_character_count: int
    text: str


def filing_section(path: Path, has_tables: bool = False) -> FilingSection:
    """Read a filing from a file and take Item 7 out of it (see `item_7`).

    Raises
    ------
    UnreadableInputError
        See `flows.corpora.filing_text.read_filing`.
    """
    return item_7(read_filing(path), path.name, has_tables)


def item_7(content: str, file_name: str, has_tables: bool = False) -> FilingSection:
    """Take Item 7 out of a filing.

    A heading of a table of contents opens a section too, but a short one: the longest wins. The
    section ends at the next heading of a later item, of which Item 7A is one.

    Parameters
    ----------
    content : str
        A full submission, one HTML or plain-text document, or inline XBRL.
    file_name : str
    has_tables : bool
        Whether rows of figures are kept.
    """
    lines = filing_lines(main_document(content))
    filing = _Filing(file_name, filing_header(content, lines), lines)
    if "\x00" in content[:1_000] or not any(character.isalpha() for character in content):
        return filing.section(Item7Status.MALFORMED, "the file holds no text")
    if not lines:
        return filing.section(Item7Status.MALFORMED, "the main document has no lines of text")
    if (obstacle := filing.form_obstacle()) is not None:
        return filing.section(Item7Status.UNSUPPORTED_FORM, obstacle)
    found = _longest(lines)
    if found is None:
        return filing.section(Item7Status.MISSING, f"no heading of Item 7 in {len(lines)} lines")
    return filing.judged(*found, has_tables)


def cleaned_section(text: str, file_name: str, header: FilingHeader) -> FilingSection:
    """Judge an Item 7 that was cut out elsewhere; its heading is taken off.

    Parameters
    ----------
    text : str
        The section, tables already kept or dropped by whoever cut it.
    file_name : str
    header : FilingHeader
        What came with it.
    """
    lines = [
        FilingLine(line, False) for raw in text.splitlines() if (line := " ".join(raw.split()))
    ]
    filing = _Filing(file_name, header, lines)
    if (obstacle := filing.form_obstacle()) is not None:
        return filing.section(Item7Status.UNSUPPORTED_FORM, obstacle)
    start = _after(lines, 0) if lines and _opens(lines, 0) else 0
    return filing.judged(start, len(lines))


@dataclass(frozen=True)
class _Filing:
    """A filing as lines, from which one section is made."""

    file_name: str
    header: FilingHeader
    lines: list[FilingLine]

    def section(self, status: Item7Status, reason: str, text: str = "") -> FilingSection:
        period = self.header.period_of_report
        return FilingSection(
            self.file_name,
            self.header,
            int(period[:4]) if period else None,
            status,
            reason,
            sum(len(line.text) + 1 for line in self.lines),
            len(text),
            text,
        )

    def form_obstacle(self) -> str | None:
        """Say why the form has no Item 7 of this kind; None where it has."""
        if self.header.form_name is None:
            return "neither header nor cover page names a form"
        if not _ANNUAL_FORM.match(self.header.form_name):
            return f"form {self.header.form_name} is no 10-K"
        return None

    def judged(self, start: int, stop: int, has_tables: bool = False) -> FilingSection:
        """Tell a text from a pointer and from a bare heading."""
        body = self.lines[start:stop]
        words = sum(len(line.text.split()) for line in body)
        place = f"lines {start + 1} to {stop} of {len(self.lines)}, {words} words"
        pointer = _POINTER.search(" ".join(line.text for line in body))
        if pointer and words <= LONGEST_POINTER_WORDS:
            return self.section(
                Item7Status.INCORPORATED_BY_REFERENCE, f'{place}, say "{pointer.group(0)}"'
            )
        text = "\n".join(line.text for line in body if has_tables or not line.is_table)
        if len(text.split()) < SHORTEST_SECTION_WORDS:
            return self.section(Item7Status.MISSING, f"only a heading of Item 7: {place}")
        return self.section(Item7Status.EXTRACTED, place, text)


def _longest(lines: list[FilingLine]) -> tuple[int, int] | None:
    """Return where the longest Item 7 begins, after its heading, and ends."""
    starts = [place for place in range(len(lines)) if _opens(lines, place)]
    if not starts:
        starts = [place for place, line in enumerate(lines) if _BARE_DISCUSSION.match(line.text)]
    sections = [(after, _end(lines, after)) for after in (_after(lines, each) for each in starts)]
    return max(sections, key=lambda section: _length(lines, section), default=None)


def _after(lines: list[FilingLine], heading: int) -> int:
    """Return the first line after a heading whose title may go on over the next line or two."""
    place = heading + 1
    if place < len(lines) and _TITLE.match(lines[place].text):
        place += 1
    if place < len(lines) and _REST_OF_TITLE.match(lines[place].text):
        place += 1
    return place


def _length(lines: list[FilingLine], section: tuple[int, int]) -> int:
    return sum(len(line.text) for line in lines[section[0] : section[1]])


def _opens(lines: list[FilingLine], place: int) -> bool:
    """Whether a line is a heading of Item 7, its title perhaps on the next line."""
    match = _heading(lines[place])
    if match is None or match.group(1) != "7" or match.group(2):
        return False
    title = match.group(3)
    if not title.strip():
        title = lines[place + 1].text if place + 1 < len(lines) else ""
    return bool(_DISCUSSION.search(title[:LONGEST_HEADING]))


def _end(lines: list[FilingLine], start: int) -> int:
    """Return the first line after *start* that heads a later item, or the number of lines."""
    for place in range(start, len(lines)):
        match = _heading(lines[place])
        if match is not None:
            number = int(match.group(1))
            if 7 < number <= 16 or (number == 7 and match.group(2)):
                return place
        elif _BARE_NEXT.match(lines[place].text):
            return place
    return len(lines)


def _heading(line: FilingLine) -> re.Match[str] | None:
    """Match a heading; "Item 8 of this report …" within a paragraph begins in lower case."""
    if len(line.text) > LONGEST_HEADING:
        return None
    match = _ITEM.match(line.text)
    if match is None or match.group(3)[:1].islower():
        return None
    return match
