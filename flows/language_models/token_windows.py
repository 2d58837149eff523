"""Texts cut into tokens, and tokens into overlapping windows that score each token once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from flows.corpora.sentence_documents import SENTENCE_END
from flows.language_models.errors import LanguageModelError
from flows.language_models.templates import without_repeated_leading


@dataclass(frozen=True)
class DocumentText:
    """A text to score, and what stands before it without being scored."""

    document_id: str
    text: str
    context_text: str = ""

    @property
    def whole(self) -> str:
        """What the language model reads."""
        return self.context_text + self.text


@dataclass(frozen=True)
class TokenizedDocument:
    """The tokens of a context and its text, read as one; arrays have the shape (tokens,).

    Attributes
    ----------
    document_id : str
    token_ids : ndarray of int64
        Without the begin-of-text token.
    is_outcome : ndarray of bool
        Whether the token is to be scored: it ends in the text, is no begin-of-text token, and
        something stands before it.
    is_across_join : ndarray of bool
        Whether it begins in the context and ends in the text, so that it belongs to both.
    sentence_index, position : ndarray of int64
        Sentence of the whole that the token's last character stands in, and place in it; from 0.
    byte_count : ndarray of int64
        UTF-8 bytes of the text that the token adds. They sum to the text's own, where its first
        token is scored.
    """

    document_id: str
    token_ids: NDArray[np.int64]
    is_outcome: NDArray[np.bool_]
    is_across_join: NDArray[np.bool_]
    sentence_index: NDArray[np.int64]
    position: NDArray[np.int64]
    byte_count: NDArray[np.int64]


@dataclass(frozen=True)
class TokenWindow:
    """What is read at once: tokens *start* to *stop*, of which those from *first* on are scored."""

    start: int
    stop: int
    first: int


def tokenized(document: DocumentText, tokenizer: Any, begin_id: int | None) -> TokenizedDocument:
    """Cut *document* into tokens.

    Begin-of-text tokens that the tokenizer or the text itself puts in front are left out: the one
    that every window starts with comes later. Words of the text that look like special tokens are
    read as the characters they are, where the tokenizer can.

    Parameters
    ----------
    document : DocumentText
    tokenizer : PreTrainedTokenizerFast
        With character offsets.
    begin_id : int or None
        Its begin-of-text token. None: it has none, and the very first token has no forecast.

    Raises
    ------
    LanguageModelError
        The tokenizer does not say where its tokens stand.
    """
    if not getattr(tokenizer, "is_fast", False):
        raise LanguageModelError(
            "a tokenizer must give character offsets for scoring, got a slow one "
            f"({type(tokenizer).__name__}); convert the model to the fast tokenizer format."
        )
    whole = document.whole
    read = tokenizer(
        whole, add_special_tokens=False, split_special_tokens=True, return_offsets_mapping=True
    )
    ids = list(read["input_ids"])
    dropped = len(ids) - len(without_repeated_leading(ids, begin_id))
    dropped += ids[dropped : dropped + 1] == [begin_id]
    token_ids = np.array(ids[dropped:], dtype=np.int64)
    offsets = np.array(read["offset_mapping"][dropped:], dtype=np.int64).reshape(-1, 2)
    join = len(document.context_text)
    is_outcome = offsets[:, 1] > join
    if begin_id is None:
        is_outcome[:1] = False
    else:
        is_outcome &= token_ids != begin_id
    ends = [match.end() for match in SENTENCE_END.finditer(whole)]
    sentence_index = np.searchsorted(ends, np.maximum(offsets[:, 1] - 1, 0), side="right")
    return TokenizedDocument(
        document.document_id,
        token_ids,
        is_outcome,
        (offsets[:, 0] < join) & (offsets[:, 1] > join),
        sentence_index.astype(np.int64),
        _places(sentence_index),
        _byte_counts(whole, offsets, join),
    )


def _places(sentence_index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of every token in its run of equal sentence indexes."""
    place = np.arange(len(sentence_index))
    begins = np.flatnonzero(np.diff(sentence_index, prepend=-1))
    return place - np.repeat(begins, np.diff(np.append(begins, len(place))))


def _byte_counts(whole: str, offsets: NDArray[np.int64], join: int) -> NDArray[np.int64]:
    """Return the bytes from the end of one token to the end of the next, from *join* on.

    What stands between two tokens belongs to the later one, and the rest to the last; a character
    made of several tokens counts with the first of them.
    """
    sizes = np.array([len(character.encode("utf-8", "surrogatepass")) for character in whole])
    until = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    ends = np.maximum.accumulate(np.maximum(offsets[:, 1], join)) if len(offsets) else offsets[:, 1]
    if len(ends):
        ends[-1] = len(whole)
    return np.diff(until[ends], prepend=until[join])


def windows(
    document: TokenizedDocument, token_limit: int, overlap_tokens: int
) -> Sequence[TokenWindow]:
    """Return windows of at most *token_limit* tokens that score every outcome exactly once.

    Each window after the first reaches back as far as it can, so that every scored token but those
    of the first has at least *overlap_tokens* before it.

    Parameters
    ----------
    document : TokenizedDocument
    token_limit : int
        Tokens of the document in a window, the begin-of-text token not counted; more than
        *overlap_tokens*.
    overlap_tokens : int
        At least 1.

    Examples
    --------
    >>> none = np.zeros(7, dtype=np.int64)
    >>> flags = np.ones(7, dtype=np.bool_)
    >>> seven = TokenizedDocument("seven", none, flags, ~flags, none, none, none)
    >>> [(each.start, each.stop, each.first) for each in windows(seven, 4, 2)]
    [(0, 4, 0), (2, 6, 4), (3, 7, 6)]
    """
    if not 1 <= overlap_tokens < token_limit:
        raise LanguageModelError(
            "windows must overlap by at least 1 token and less than they hold, got "
            f"{overlap_tokens} of {token_limit}; change window_tokens or overlap_tokens."
        )
    outcomes = np.flatnonzero(document.is_outcome)
    if not len(outcomes):
        return []
    first, count = int(outcomes[0]), len(document.token_ids)
    found = []
    reach = max(token_limit, first + token_limit - overlap_tokens)
    while first < count:
        stop = min(count, reach)
        found.append(TokenWindow(max(0, stop - token_limit), stop, first))
        first, reach = stop, stop + token_limit - overlap_tokens
    return found
