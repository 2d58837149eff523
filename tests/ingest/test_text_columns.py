"""Bulk columns against the one-by-one definitions in `udfs`."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from flows.corpora import text_columns as bulk
from flows.corpora.text_columns import text_columns
from udfs.identity import normalised_md5, text_id
from udfs.word_sets import count_words

TRICKY = st.text(
    alphabet=st.one_of(
        st.sampled_from(
            "aB'’-_ \n\t\x1c\x85\u00a0\u2003é\u0301İßſΣςＡ0٣—“”\ud7ff🙂Å\u212b가ᄀ\uff3f"
        ),
        st.characters(exclude_categories=["Cs"]),
    ),
    max_size=40,
)


@given(st.lists(TRICKY, max_size=12))
def test_bulk_columns_equal_the_definitions(texts: list[str]) -> None:
    columns = text_columns(texts).to_pydict()
    assert columns["text"] == texts
    assert columns["text_id"] == [text_id(text) for text in texts]
    assert columns["character_count"] == [len(text) for text in texts]
    assert columns["byte_count"] == [len(text.encode()) for text in texts]
    assert columns["word_count"] == [count_words(text) for text in texts]
    assert columns["normalised_md5"] == [normalised_md5(text) for text in texts]


def test_every_character_is_classified_as_the_definitions_do() -> None:
    surrogates = range(0xD800, 0xE000)
    texts = [f"a{chr(code)}b {chr(code)}" for code in range(0x20000) if code not in surrogates]
    columns = text_columns(texts).to_pydict()
    assert columns["word_count"] == [count_words(text) for text in texts]
    assert columns["normalised_md5"] == [normalised_md5(text) for text in texts]


def test_texts_longer_than_a_chunk_are_counted_whole() -> None:
    long = "it's " * bulk.WORK_BYTES
    columns = text_columns([long, "", "one", long + "’"])
    assert columns.column("word_count").to_pylist() == [bulk.WORK_BYTES, 0, 1, bulk.WORK_BYTES]
    assert text_columns([]).num_rows == 0


def test_neighbours_do_not_join_and_the_apostrophe_is_read_by_its_three_bytes() -> None:
    # U+2659 and U+2122 end in bytes of the apostrophe without being one.
    texts = ["it", "’s", "it’s", "a♙b", "a™b", "’", "", "’a’", "a’’b", "é’s", "rock’n’roll -x"]
    columns = text_columns(texts)
    assert columns.column("word_count").to_pylist() == [count_words(text) for text in texts]
    assert columns.column("word_count").to_pylist() == [1, 1, 1, 2, 2, 0, 0, 1, 2, 1, 2]
