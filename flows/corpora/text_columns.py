"""Identity, fingerprint and counts of many texts at once.

The meaning of every column is the function of the same name in `udfs.identity` and
`udfs.word_sets`; computing them one text at a time runs at 20 MB/s, in bulk at several times that.
"""

from __future__ import annotations

import functools
import hashlib
import unicodedata
from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from udfs.identity import ID_BYTES, normalise_story
from udfs.word_sets import COMBINING_MARKS

_WORD_CHARACTER, _JOINER, _MARK = 1, 2, 3
_JOINERS = "'’-"

_BETWEEN = b"\xff"
"""Stands between texts: no byte of UTF-8."""

_ASCII = bytes(range(128))
_FOLDED = bytes(
    ord(" ") if chr(code).isspace() and code < 128 else (code + 32 if 65 <= code <= 90 else code)
    for code in range(256)
)
"""ASCII case folded and white space made blanks; bytes of longer characters as they are."""

WORK_CHARACTERS = 1 << 18
"""Characters classified at once: their temporary arrays stay in the cache."""


def text_columns(texts: Sequence[str]) -> pa.Table:
    """Return one row per text with the columns of ``raw.texts``, in the given order.

    ``text_id``, ``text``, ``character_count``, ``byte_count``, ``word_count``, ``normalised_md5``.
    """
    encoded = [text.encode() for text in texts]
    byte_counts = np.fromiter(map(len, encoded), np.int32, len(encoded))
    offsets = np.zeros(len(encoded) + 1, np.int32)
    np.cumsum(byte_counts, out=offsets[1:])
    return pa.table(
        {
            "text_id": [hashlib.sha256(data).hexdigest()[: 2 * ID_BYTES] for data in encoded],
            "text": pa.StringArray.from_buffers(
                len(encoded), pa.py_buffer(offsets), pa.py_buffer(b"".join(encoded))
            ),
            "character_count": np.fromiter(map(len, texts), np.int32, len(encoded)),
            "byte_count": byte_counts,
            "word_count": word_counts(texts),
            "normalised_md5": normalised_md5s(texts, encoded),
        }
    )


def word_counts(texts: Sequence[str]) -> NDArray[np.int32]:
    """Return `udfs.word_sets.count_words` of every text, shape (n_texts,).

    A word begins where a word character follows none; marks belong to the word character they
    follow; a run that follows another by exactly one apostrophe or hyphen goes on with that word.
    """
    counts = np.zeros(len(texts), np.int32)
    for start, stop in _chunks(texts):
        counts[start:stop] = _word_counts(texts[start:stop])
    return counts


def _chunks(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the bounds of neighbouring texts of about `WORK_CHARACTERS` together."""
    start = size = 0
    for index, text in enumerate(texts):
        if size + len(text) > WORK_CHARACTERS and index > start:
            yield start, index
            start, size = index, 0
        size += len(text)
    if start < len(texts):
        yield start, len(texts)


def _word_counts(texts: Sequence[str]) -> NDArray[np.int64]:
    joined = "\n".join(texts)
    codes: NDArray[np.uint8] | NDArray[np.uint32]
    if joined.isascii():
        codes = np.frombuffer(joined.encode("ascii"), np.uint8)
    else:
        codes = np.frombuffer(joined.encode("utf-32-le"), np.uint32)
    classes = np.zeros(len(codes) + 2, np.uint8)
    np.take(_character_classes(), codes, out=classes[2:])
    is_word = classes == _WORD_CHARACTER
    is_mark = classes == _MARK
    # One round for each mark in the longest run of marks, mostly none.
    while (joins := is_mark[1:] & is_word[:-1] & ~is_word[1:]).any():
        is_word[1:] |= joins
    goes_on = (classes[1:-1] == _JOINER) & is_word[:-2]
    begins = is_word[2:] & ~is_word[1:-1] & ~goes_on
    ends = np.cumsum([len(text) + 1 for text in texts])
    until = np.searchsorted(np.flatnonzero(begins), ends)
    return np.diff(until, prepend=0)


@functools.cache
def _character_classes() -> NDArray[np.uint8]:
    r"""Class of every code point: a word character is ``[^\W_]``, letters and digits."""
    characters = map(chr, range(0x110000))
    classes = np.fromiter(map(str.isalnum, characters), np.uint8, 0x110000)
    classes[list(map(ord, COMBINING_MARKS))] = _MARK
    for joiner in _JOINERS:
        classes[ord(joiner)] = _JOINER
    return classes


def normalised_md5s(texts: Sequence[str], encoded: Sequence[bytes]) -> list[str]:
    """Return `udfs.identity.normalised_md5` of every text, given also as UTF-8 bytes."""
    normalised: list[bytes] = []
    for start, stop in _chunks(texts):
        normalised += _normalised_bytes(texts[start:stop], encoded[start:stop])
    return [hashlib.md5(data, usedforsecurity=False).hexdigest() for data in normalised]


def _normalised_bytes(texts: Sequence[str], encoded: Sequence[bytes]) -> list[bytes]:
    """Normalise on bytes where nothing beyond ASCII changes, one by one elsewhere."""
    plain = [
        data if text.isascii() or _is_inert(text, data) else normalise_story(text).encode()
        for text, data in zip(texts, encoded, strict=True)
    ]
    folded = np.frombuffer(_BETWEEN.join((b"", *plain, b"")).translate(_FOLDED), np.uint8)
    is_blank = folded == ord(" ")
    is_edge = is_blank | (folded == _BETWEEN[0])
    # Of a run of blanks the first stays, unless it opens or ends a text.
    is_kept = ~is_blank
    is_kept[1:-1] |= ~is_edge[:-2]
    kept = folded[is_kept].tobytes()
    return [data.removesuffix(b" ") for data in kept.split(_BETWEEN)[1:-1]]


def _is_inert(text: str, encoded: bytes) -> bool:
    """Whether NFC, case folding and white space leave every character beyond ASCII as it is."""
    beyond = set(encoded.translate(None, _ASCII).decode())
    return all(map(_is_inert_character, beyond)) and unicodedata.is_normalized("NFC", text)


@functools.lru_cache(maxsize=4096)
def _is_inert_character(character: str) -> bool:
    return character.casefold() == character and not character.isspace()
