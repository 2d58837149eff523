"""Content identity: prompts, texts and requests are keyed by what they are."""

from __future__ import annotations

import hashlib
import json
import unicodedata
from collections.abc import Sequence

import orjson

ID_BYTES = 16
"""128 bits: among 10 million ids the chance of any collision is below 1e-24."""

_CANONICAL = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def content_id(*parts: str | int | float | None) -> str:
    """Return the identity of *parts*: 32 lower-case hex digits.

    The first 128 bits of the SHA-256 of the parts as a canonical JSON array, so that the order of
    parts, their types and absent ones (None) all count: ``content_id("1")`` is not
    ``content_id(1)``.

    Examples
    --------
    >>> content_id("prompt", "Once") == content_id("prompt", "Once")
    True
    >>> content_id("a", "b") == content_id("ab")
    False
    """
    canonical = _CANONICAL.encode(parts)
    return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()[: 2 * ID_BYTES]


def content_ids(first: str, *columns: Sequence[str]) -> list[str]:
    """Return `content_id` of *first* and the values beside each other in *columns*, all texts.

    In bulk, for some hundred thousand ids.

    Raises
    ------
    TypeError
        A text holds a lone surrogate, which `content_id` takes.

    Examples
    --------
    >>> content_ids("human", ["a", "b"], ["c", "d"])[1] == content_id("human", "b", "d")
    True
    """
    return [
        hashlib.sha256(orjson.dumps((first, *row))).hexdigest()[: 2 * ID_BYTES]
        for row in zip(*columns, strict=True)
    ]


def text_id(text: str) -> str:
    """Return the identity of *text*: the first 128 bits of the SHA-256 of its UTF-8 bytes."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[: 2 * ID_BYTES]


def document_id(text_id: str, context_text: str) -> str:
    """Return the identity of a text to score with what stands before it, nothing being ``""``."""
    return content_id("document", text_id, context_text)


def prompt_id(prompt_text: str) -> str:
    """Return the identity of a prompt: the same text is the same prompt in every file."""
    return content_id("prompt", prompt_text)


def normalise_story(text: str) -> str:
    """Return *text* as compared for duplicates: NFC, case folded, white space collapsed.

    Examples
    --------
    >>> normalise_story("  Once\\n upon  A time ")
    'once upon a time'
    """
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def normalised_md5(text: str) -> str:
    """Return the MD5 of the normalised story, 32 hex digits (GCV section 3.1, rule 1).

    MD5 is the document's choice of fingerprint; nothing here depends on it being hard to forge.
    """
    digest = hashlib.md5(
        normalise_story(text).encode("utf-8", "surrogatepass"), usedforsecurity=False
    )
    return digest.hexdigest()
