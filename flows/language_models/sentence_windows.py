"""Sentences as padded windows: what a decoder reads and what it is asked."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flows.language_models.vocabulary import EncodedText


@dataclass(frozen=True)
class SentenceWindows:
    """The first positions of every sentence, one window a row.

    Attributes
    ----------
    read, asked : ndarray of int64, shape (sentences, length)
        What stands before each position, the begin mark first, and what came there. Padding is 0 in
        both.
    is_token : ndarray of bool, shape (sentences, length)
        Where a position holds a token.
    """

    read: NDArray[np.int64]
    asked: NDArray[np.int64]
    is_token: NDArray[np.bool_]


def sentence_windows(text: EncodedText, begin_id: int, context_length: int) -> SentenceWindows:
    """Cut the first *context_length* positions of every sentence into windows.

    Parameters
    ----------
    text : EncodedText
        Whole sentences; their numbers need not start at 0.
    begin_id : int
    context_length : int
        Windows are as long as the longest sentence, and at most this.

    Examples
    --------
    >>> from flows.corpora.sentence_documents import sentence_document
    >>> from flows.language_models.vocabulary import Vocabulary, encode
    >>> text = encode(Vocabulary(("rose",)), [sentence_document("a", "Rose rose. Rose.")])
    >>> windows = sentence_windows(text, 3, 32)
    >>> windows.read.tolist(), windows.asked.tolist()
    ([[3, 2, 2], [3, 2, 0]], [[2, 2, 0], [2, 0, 0]])
    """
    is_inside = text.position < context_length
    _, row = np.unique(text.sentence_index[is_inside], return_inverse=True)
    position = text.position[is_inside]
    shape = (int(row.max(initial=-1)) + 1, int(position.max(initial=0)) + 1)
    read, asked = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    is_token = np.zeros(shape, dtype=np.bool_)
    read[row, position] = text.previous(begin_id)[is_inside]
    asked[row, position] = text.token_id[is_inside]
    is_token[row, position] = True
    return SentenceWindows(read, asked, is_token)
