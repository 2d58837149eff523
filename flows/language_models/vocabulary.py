"""Words as numbers: outcomes, the begin mark that is only ever context, and encoded texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from flows.corpora.sentence_documents import SentenceDocument
from flows.language_models.errors import VocabularyError

END_ID, UNKNOWN_ID = 0, 1
"""Of ``</s>`` and ``<unk>``; words follow, the most frequent first."""

END, UNKNOWN, BEGIN = "</s>", "<unk>", "<s>"


@dataclass(frozen=True)
class Vocabulary:
    """The outcomes of a language model, numbered.

    Attributes
    ----------
    words : tuple of str
        Known words, by falling count in the training text, ties in alphabetical order.

    Examples
    --------
    >>> Vocabulary(("sales", "rose")).outcome_names
    ('</s>', '<unk>', 'sales', 'rose')
    """

    words: tuple[str, ...]

    @property
    def outcome_count(self) -> int:
        """V: the words, ``</s>`` and ``<unk>``."""
        return len(self.words) + 2

    @property
    def begin_id(self) -> int:
        """Of ``<s>``: one past the last outcome, since it never comes next."""
        return self.outcome_count

    @property
    def outcome_names(self) -> tuple[str, ...]:
        """Every outcome in the order of its number."""
        return (END, UNKNOWN, *self.words)

    @cached_property
    def id_of(self) -> dict[str, int]:
        """Numbers of the known words."""
        return {word: place for place, word in enumerate(self.words, start=2)}


@dataclass(frozen=True)
class EncodedText:
    """The tokens of some documents, flat: every word, and the end of every sentence.

    Attributes
    ----------
    token_id : ndarray of int64, shape (tokens,)
        Outcome that came; a sentence ends with `END_ID`.
    position : ndarray of int64, shape (tokens,)
        Place in the sentence, from 0.
    sentence_index, document_index : ndarray of int64, shape (tokens,)
        Counted from 0 over the whole text: a sentence's number does not start anew with a document.
    byte_count : ndarray of int64, shape (tokens,)
        UTF-8 bytes of the token as written, with the one space before a word that is not the first;
        1 for the end of a sentence, a line feed. They add up to the bytes of the text.
    """

    token_id: NDArray[np.int64]
    position: NDArray[np.int64]
    sentence_index: NDArray[np.int64]
    document_index: NDArray[np.int64]
    byte_count: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.token_id)

    def previous(self, begin_id: int, distance: int = 1) -> NDArray[np.int64]:
        """Token that stands *distance* places before each; *begin_id* before a sentence.

        A sentence is padded in front with as many begin marks as are asked for.
        """
        shifted = np.full(len(self), begin_id, dtype=np.int64)
        shifted[distance:] = self.token_id[:-distance]
        shifted[self.position < distance] = begin_id
        return shifted

    def where(self, is_kept: NDArray[np.bool_]) -> EncodedText:
        """Only the tokens that are kept; their context is no longer at hand."""
        return EncodedText(
            self.token_id[is_kept],
            self.position[is_kept],
            self.sentence_index[is_kept],
            self.document_index[is_kept],
            self.byte_count[is_kept],
        )


def vocabulary_of(
    documents: Sequence[SentenceDocument], token_count: int | None = None
) -> Vocabulary:
    """Vocabulary of a training text.

    Parameters
    ----------
    documents : sequence of SentenceDocument
    token_count : int, optional
        Tokens to keep, ``<s>``, ``</s>`` and ``<unk>`` among them: 512 keeps 509 words. All words
        by default; ``<unk>`` then never comes in the training text.

    Raises
    ------
    VocabularyError
        No word, or room for none.
    """
    counts = Counter(
        word for document in documents for sentence in document.sentences for word in sentence
    )
    if not counts:
        raise VocabularyError("a training text must hold at least one word, got none.")
    if token_count is not None and token_count < 4:
        raise VocabularyError(
            f"token_count must be at least 4, a word beside the three marks, got {token_count}."
        )
    ordered = sorted(counts, key=lambda word: (-counts[word], word))
    return Vocabulary(tuple(ordered if token_count is None else ordered[: token_count - 3]))


def encode(vocabulary: Vocabulary, documents: Sequence[SentenceDocument]) -> EncodedText:
    """Number the tokens of *documents*; a word that is not known becomes ``<unk>``.

    Examples
    --------
    >>> from flows.corpora.sentence_documents import sentence_document
    >>> text = encode(Vocabulary(("rose",)), [sentence_document("a", "Sales rose. Rose.")])
    >>> text.token_id.tolist(), text.sentence_index.tolist()
    ([1, 2, 0, 2, 0], [0, 0, 0, 1, 1])
    """
    id_of = vocabulary.id_of
    tokens: list[int] = []
    bytes_of_tokens: list[int] = []
    lengths: list[int] = []
    for document in documents:
        for sentence in document.sentences:
            tokens.extend(id_of.get(word, UNKNOWN_ID) for word in sentence)
            tokens.append(END_ID)
            sizes = [len(word.encode()) + 1 for word in sentence]
            bytes_of_tokens.extend((sizes[0] - 1, *sizes[1:], 1))
            lengths.append(len(sentence) + 1)
    length = np.array(lengths, dtype=np.int64)
    starts = np.cumsum(length) - length
    document_of_sentence = np.repeat(
        np.arange(len(documents)), [len(document.sentences) for document in documents]
    )
    return EncodedText(
        np.array(tokens, dtype=np.int64),
        np.arange(len(tokens)) - np.repeat(starts, length),
        np.repeat(np.arange(len(length)), length),
        np.repeat(document_of_sentence, length),
        np.array(bytes_of_tokens, dtype=np.int64),
    )
