r"""Words of a text: what is counted, cut and compared.

A word is a maximal run of letters, marks and digits (``\w`` without the underscore), with single
apostrophes or hyphens inside it: ``don't`` and ``well-known`` are one word each, ``--`` is none.
Words are compared case folded, with a typographic apostrophe read as a plain one.
"""

from __future__ import annotations

import itertools
import re

from udfs.errors import CalibraryError

WORD = re.compile(r"[^\W_]+(?:['’\-][^\W_]+)*")


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
    """Return the distinct words of *text*, case folded, sorted by code point.

    Examples
    --------
    >>> word_set("The cat and the CAT")
    ['and', 'cat', 'the']
    """
    return sorted({word.replace("’", "'") for word in WORD.findall(text.casefold())})
