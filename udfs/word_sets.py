r"""Words of a text: what is counted, cut and compared.

A word is a maximal run of letters and digits (``\w`` without the underscore) with the combining
marks that follow them, and with single apostrophes or hyphens inside it: ``don't``, ``well-known``
and a decomposed ``é`` are one word each, ``--`` and the mark that colours an emoji are none.
Words are compared composed (NFC) and case folded, as stories are when duplicates are sought
(`udfs.identity.normalise_story`), with a typographic apostrophe read as a plain one.
"""

from __future__ import annotations

import itertools
import re
import unicodedata

from udfs.errors import CalibraryError

# Marks begin at U+0300 and lie in the first two planes, but for the selectors of plane 14.
_MARK_PLANES = itertools.chain(range(0x300, 0x20000), range(0xE0100, 0xE01F0))
COMBINING_MARKS = "".join(
    chr(code) for code in _MARK_PLANES if unicodedata.category(chr(code)).startswith("M")
)
"""Every character of Unicode's category M."""

# The class is long: one look at an ASCII character spares reading it through.
_MARKS = rf"(?![\x00-\x7f])[{COMBINING_MARKS}]+"

WORD = re.compile(rf"[^\W_]+(?:(?:['’\-]|{_MARKS}['’\-]?)[^\W_]+)*(?:{_MARKS})?")


class WordLimitError(CalibraryError):
    """A text was asked to be cut to fewer than one word."""


def count_words(text: str) -> int:
    """Return the number of words of *text*, repetitions counted.

    Examples
    --------
    >>> count_words("Don't stop -- well-known words, don't!")
    5
    """
    return len(WORD.findall(text))


def cut_words(text: str, word_limit: int) -> str:
    """Return *text* up to the end of its *word_limit*-th word, all of it where it has fewer.

    Punctuation after the last kept word goes with what is cut.

    Raises
    ------
    WordLimitError
        *word_limit* is below 1.

    Examples
    --------
    >>> cut_words("One, two. Three!", 2)
    'One, two'
    """
    if word_limit < 1:
        raise WordLimitError(f"word_limit must be at least 1, got {word_limit}.")
    last = next(itertools.islice(WORD.finditer(text), word_limit - 1, None), None)
    return text if last is None else text[: last.end()]


def word_set(text: str) -> list[str]:
    """Return the distinct words of *text*, composed and case folded, sorted by code point.

    Examples
    --------
    >>> word_set("The cat and the CAT")
    ['and', 'cat', 'the']
    """
    composed = unicodedata.normalize("NFC", text).casefold()
    return sorted({word.replace("’", "'") for word in WORD.findall(composed)})
