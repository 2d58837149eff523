"""Documents as sentences of words: what the small language models read and score."""

from __future__ import annotations

import re
from dataclasses import dataclass

WORD_PATTERN = re.compile(r"[^\W\d_]+(?:[-'’&][^\W\d_]+)*|\$?\d+(?:[.,]\d+)*%?")
"""Words with inner hyphens and apostrophes, and numbers with their sign; all else is dropped."""

SENTENCE_END = re.compile(r"(?<=[.!?;])[\"”’)]*\s+(?=[\"“‘(]*[A-Z0-9])|\n\s*\n|\n(?=\s*[•\-–—])")
"""A stop before a capital or a digit, an empty line, or a new point of a list."""


@dataclass(frozen=True)
class SentenceDocument:
    """One text, cut into sentences of lower-case words without punctuation.

    Attributes
    ----------
    document_name : str
    sentences : tuple of tuple of str
        Without begin or end marks; no sentence is empty.
    """

    document_name: str
    sentences: tuple[tuple[str, ...], ...]

    @property
    def token_count(self) -> int:
        """Outcomes to score: every word, and the end of every sentence."""
        return sum(len(sentence) + 1 for sentence in self.sentences)

    @property
    def text(self) -> str:
        """The sentences, one a line, words apart by one space."""
        return "".join(" ".join(sentence) + "\n" for sentence in self.sentences)


def sentence_document(document_name: str, text: str) -> SentenceDocument:
    """Cut a plain text into sentences of words.

    Rules by regular expression, not a trained splitter: an abbreviation before a capital
    ("Inc. We") ends a sentence.

    Examples
    --------
    >>> sentence_document("note", "Sales rose 3.5%. They fell before.").sentences
    (('sales', 'rose', '3.5%'), ('they', 'fell', 'before'))
    """
    sentences = (
        tuple(WORD_PATTERN.findall(sentence.lower())) for sentence in SENTENCE_END.split(text)
    )
    return SentenceDocument(document_name, tuple(sentence for sentence in sentences if sentence))
