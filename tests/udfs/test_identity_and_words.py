"""Claims about identities and words."""

from __future__ import annotations

import hashlib
import re
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from udfs.identity import content_id, content_ids, normalise_story, normalised_md5, text_id
from udfs.word_sets import WordLimitError, count_words, cut_words, word_set

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=80)


def test_identities_are_the_published_hashes_of_what_a_thing_is() -> None:
    assert text_id("abc") == hashlib.sha256(b"abc").hexdigest()[:32]
    assert content_id("a", 1, None) == hashlib.sha256(b'["a",1,null]').hexdigest()[:32]


def test_the_type_of_a_part_is_part_of_the_identity() -> None:
    assert len({content_id("1"), content_id(1), content_id(None), content_id("1", None)}) == 4


@given(st.lists(st.tuples(texts, texts), max_size=5), texts)
def test_identities_in_bulk_are_those_one_by_one(rows: list[tuple[str, str]], first: str) -> None:
    columns = [[row[place] for row in rows] for place in (0, 1)]
    assert content_ids(first, *columns) == [content_id(first, *row) for row in rows]


def test_stories_that_differ_in_case_space_or_composition_are_duplicates() -> None:
    assert normalised_md5("Caf\u00e9  \n NOIR ") == normalised_md5("cafe\u0301 noir")
    assert normalised_md5("one two") == hashlib.md5(b"one two", usedforsecurity=False).hexdigest()
    assert normalised_md5("one two") != normalised_md5("onetwo")


@given(texts)
def test_normalising_collapses_white_space_and_composes(text: str) -> None:
    normal = normalise_story(text)
    assert not re.search(r"\s\s", normal)
    assert normal == normal.strip()
    assert normalise_story(f"  {text}\n") == normal
    assert normalise_story(unicodedata.normalize("NFD", text)) == normal


@given(texts, st.integers(1, 20))
def test_a_cut_is_a_prefix_with_exactly_the_first_words(text: str, word_limit: int) -> None:
    cut = cut_words(text, word_limit)
    assert text.startswith(cut)
    assert count_words(cut) == min(word_limit, count_words(text))


def test_apostrophes_and_hyphens_stay_inside_words_and_underscores_split() -> None:
    assert word_set("Don’t well-known -- 'tis snake_case 3rd") == sorted(
        ["don't", "well-known", "tis", "snake", "case", "3rd"]
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("cafe\u0301 noir", ["café", "noir"]),
        ("हिन्दी भाषा", ["भाषा", "हिन्दी"]),
        ("\u2764\ufe0f love", ["love"]),
        ("\u0301stray e\u0301-e\u0301", ["stray", "é-é"]),
    ],
)
def test_marks_belong_to_the_letter_they_follow_and_are_no_words_alone(
    text: str, words: list[str]
) -> None:
    assert word_set(text) == words
    assert count_words(text) == len(words)


@given(texts)
def test_composed_and_decomposed_texts_have_the_same_words(text: str) -> None:
    decomposed = unicodedata.normalize("NFD", text)
    assert word_set(decomposed) == word_set(unicodedata.normalize("NFC", text))


@given(texts)
def test_a_text_has_a_word_set_exactly_if_it_has_words(text: str) -> None:
    words = word_set(text)
    assert bool(words) == bool(count_words(text))
    assert words == sorted(set(words))


def test_a_cut_below_one_word_is_refused() -> None:
    with pytest.raises(WordLimitError, match="got 0"):
        cut_words("a b", 0)
