"""Identity, fingerprint and counts of many texts at once.

The meaning of every column is the function of the same name in `udfs.identity` and
`udfs.word_sets`; computing them one text at a time runs at 20 MB/s, in bulk at several times that.
"""

from __future__ import annotations

import functools
import hashlib
import unicodedata
from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.identity import ID_BYTES, normalise_story
from udfs.word_sets import COMBINING_MARKS

_WORD_CHARACTER, _JOINER, _MARK = 1, 2, 3
_JOINERS = "'’-"
_APOSTROPHE = "’"
_APOSTROPHE_BYTES = _APOSTROPHE.encode()

_BETWEEN = b"\xff"
"""Stands between texts: no byte of UTF-8."""

_ASCII = bytes(range(128))
_FOLDED = bytes(
    ord(" ") if chr(code).isspace() and code < 128 else (code + 32 if 65 <= code <= 90 else code)
    for code in range(256)
)
"""ASCII case folded and white space made blanks; bytes of longer characters as they are."""

WORK_BYTES = 1 << 18
"""Bytes looked through at once: their temporary arrays stay in the cache."""

_NOTHING: frozenset[str] = frozenset()


def text_columns(texts: Sequence[str]) -> pa.Table:
    """Return one row per text with the columns of ``raw.texts``, in the given order.

    ``text_id``, ``text``, ``character_count``, ``byte_count``, ``word_count``, ``normalised_md5``.
    """
    encoded = [text.encode() for text in texts]
    byte_counts = np.fromiter(map(len, encoded), np.int32, len(encoded))
    offsets = np.zeros(len(encoded) + 1, np.int32)
    np.cumsum(byte_counts, out=offsets[1:])
    word_counts: list[int] = []
    digests: list[str] = []
    for start, stop in _chunks(offsets):
        counted, fingerprints = _words_and_md5s(texts[start:stop], encoded[start:stop])
        word_counts += counted
        digests += fingerprints
    return pa.table(
        {
            "text_id": [hashlib.sha256(data).hexdigest()[: 2 * ID_BYTES] for data in encoded],
            "text": pa.StringArray.from_buffers(
                len(encoded), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))
            ),
            "character_count": np.fromiter(map(len, texts), np.int32, len(encoded)),
            "byte_count": byte_counts,
            "word_count": pa.array(word_counts, pa.int32()),
            "normalised_md5": pa.array(digests, pa.string()),
        }
    )


def _chunks(offsets: NDArray[np.int32]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of neighbouring texts of about `WORK_BYTES` together."""
    cuts = np.searchsorted(offsets, np.arange(0, offsets[-1], WORK_BYTES))
    yield from pairwise(np.unique([0, *cuts, len(offsets) - 1]).tolist())


def _words_and_md5s(texts: Sequence[str], encoded: Sequence[bytes]) -> tuple[list[int], list[str]]:
    """Return `count_words` of `udfs.word_sets` and `normalised_md5` of `udfs.identity` of texts.

    On the bytes of all where nothing beyond ASCII is in a word or normalised, one by one elsewhere.
    Words are those of the normalised text where no letter, digit or mark is beyond ASCII: there
    normalising changes no word, only white space, case and signs.
    """
    beyond = [
        _NOTHING if text.isascii() else set(data.translate(None, _ASCII).decode())
        for text, data in zip(texts, encoded, strict=True)
    ]
    plain = [
        data if all(map(_is_inert, characters)) else normalise_story(text).encode()
        for text, data, characters in zip(texts, encoded, beyond, strict=True)
    ]
    joined = _BETWEEN.join((b"", *plain, b"")).translate(_FOLDED)
    folded = np.frombuffer(joined, np.uint8)
    counts = _begun_words(folded, list(map(len, plain)), has_apostrophe=_APOSTROPHE_BYTES in joined)
    for place, characters in enumerate(beyond):
        if characters and not all(map(_is_apart, characters)):
            counts[place] = _count_words(texts[place])
    digests = [hashlib.md5(data, usedforsecurity=False).hexdigest() for data in _collapsed(folded)]
    return counts, digests


def _begun_words(
    folded: NDArray[np.uint8], sizes: Sequence[int], *, has_apostrophe: bool
) -> list[int]:
    """Return the number of words of each text; beyond ASCII, only the apostrophe counts as part.

    A word begins where a word character follows none; a run that follows another by exactly one
    apostrophe or hyphen goes on with that word.

    Parameters
    ----------
    folded : ndarray of uint8, shape (bytes,)
        Texts in lower case, with `_BETWEEN` before, between and after them.
    sizes : sequence of int
        Bytes of each.
    has_apostrophe : bool
        Whether the typographic one, of three bytes, is in any.
    """
    # Unsigned: what is below "a" or "0" comes out far above.
    is_word = ((folded - ord("a")) < 26) | ((folded - ord("0")) < 10)
    begins = is_word[1:] & ~is_word[:-1]
    is_joiner = (folded == ord("'")) | (folded == ord("-"))
    begins[1:] &= ~(is_joiner[1:-1] & is_word[:-2])
    if has_apostrophe:
        first, middle, last = _APOSTROPHE_BYTES
        ends = np.flatnonzero(folded == last)
        ends = ends[(folded[ends - 1] == middle) & (folded[ends - 2] == first)]
        begins[ends[is_word[ends - 3]]] = False
    # begins[i] is about byte i + 1: the first text starts at 0, each next after a separator.
    stops = np.cumsum(np.add(sizes, 1)).tolist()
    return [int(np.count_nonzero(begins[start:stop])) for start, stop in pairwise([0, *stops])]


def _count_words(text: str) -> int:
    """Return `udfs.word_sets.count_words` of a text with words or marks beyond ASCII.

    Marks belong to the word character they follow.
    """
    codes = np.frombuffer(f"\n\n{text}".encode("utf-32-le"), np.uint32)
    classes = _character_classes()[codes]
    is_word = classes == _WORD_CHARACTER
    is_mark = classes == _MARK
    # One round for each mark in the longest run of marks, mostly none.
    while (joins := is_mark[1:] & is_word[:-1] & ~is_word[1:]).any():
        is_word[1:] |= joins
    goes_on = (classes[1:-1] == _JOINER) & is_word[:-2]
    return int(np.count_nonzero(is_word[2:] & ~is_word[1:-1] & ~goes_on))


@functools.cache
def _character_classes() -> NDArray[np.uint8]:
    r"""Class of every code point: a word character is ``[^\W_]``, letters and digits."""
    characters = map(chr, range(0x110000))
    classes = np.fromiter(map(str.isalnum, characters), np.uint8, 0x110000)
    classes[list(map(ord, COMBINING_MARKS))] = _MARK
    for joiner in _JOINERS:
        classes[ord(joiner)] = _JOINER
    return classes


@functools.lru_cache(maxsize=4096)
def _is_apart(character: str) -> bool:
    """Whether *character*, beyond ASCII, is the apostrophe or in no word."""
    return character == _APOSTROPHE or not _character_classes()[ord(character)]


@functools.lru_cache(maxsize=4096)
def _is_inert(character: str) -> bool:
    """Whether NFC, case folding and white space leave *character* as it is beside any other.

    What NFC may join to the character before it is a mark or a letter of the Hangul Jamo.
    """
    return (
        character.casefold() == character
        and not character.isspace()
        and not unicodedata.category(character).startswith("M")
        and not "\u1100" <= character <= "\u11ff"
        and unicodedata.is_normalized("NFC", character)
    )


def _collapsed(folded: NDArray[np.uint8]) -> list[bytes]:
    """Return texts in lower case, as `_begun_words` takes them, with white space collapsed."""
    is_blank = folded == ord(" ")
    is_edge = is_blank | (folded == _BETWEEN[0])
    # Of a run of blanks the first stays, unless it opens or ends a text.
    is_kept = ~is_blank
    is_kept[1:-1] |= ~is_edge[:-2]
    kept = folded[is_kept].tobytes()
    return [data.removesuffix(b" ") for data in kept.split(_BETWEEN)[1:-1]]
