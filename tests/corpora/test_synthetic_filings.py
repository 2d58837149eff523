"""Claims about the synthetic filings generator and about cutting plain text into sentences."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from flows.corpora.errors import GeneratorError
from flows.corpora.filing_grammar import BOILERPLATE, SLOT_WORDS, TEMPLATES
from flows.corpora.sentence_documents import SentenceDocument, sentence_document
from flows.corpora.synthetic_filings import (
    RANK_OFFSET,
    FilingGenerator,
    FilingSettings,
    synthetic_corpora,
)


def made(seed: int, document_count: int, **knobs: float) -> list[SentenceDocument]:
    settings = FilingSettings(**knobs)  # type: ignore[arg-type]
    return FilingGenerator(settings, np.random.default_rng(seed)).documents(document_count)


def word_counts(documents: list[SentenceDocument]) -> Counter[str]:
    return Counter(
        word for document in documents for sentence in document.sentences for word in sentence
    )


def test_the_training_text_has_the_size_of_the_document_s() -> None:
    """Some 70,000 tokens and 3,000 to 3,500 outcomes, two of them marks."""
    training = synthetic_corpora(1).training
    assert len(training) == 300
    assert sum(each.token_count for each in training) == pytest.approx(70_000, rel=0.05)
    assert 3_000 <= len(word_counts(training)) + 2 <= 3_500


def test_a_seed_names_the_text() -> None:
    assert made(4, 3) == made(4, 3)
    assert made(4, 3) != made(5, 3)


def test_a_continuation_is_the_same_stream_run_on() -> None:
    generator = FilingGenerator(FilingSettings(), np.random.default_rng(4))
    assert [*generator.documents(3), *generator.documents(2)] == made(4, 5)


def test_shifting_the_held_text_changes_neither_of_the_others() -> None:
    plain = synthetic_corpora(2, training_document_count=3, test_document_count=2)
    other = synthetic_corpora(
        2,
        held_settings=FilingSettings(word_frequency_exponent=0.5),
        training_document_count=3,
        test_document_count=2,
    )
    assert (plain.training, plain.continuation) == (other.training, other.continuation)
    assert plain.held != other.held


def test_slots_follow_the_zipf_mandelbrot_law_where_nothing_sticks() -> None:
    counts = word_counts(made(0, 400, stickiness=0.0))
    words = SLOT_WORDS["place"]
    weights = (np.arange(1, len(words) + 1) + RANK_OFFSET) ** -0.85
    observed = np.array([counts[word] for word in words])
    expected = weights / weights.sum() * observed.sum()
    chi_square = float(((observed - expected) ** 2 / expected).sum())
    # Mean n − 1 and variance 2(n − 1) under the law; four standard deviations.
    degrees = len(words) - 1
    assert abs(chi_square - degrees) < 4 * np.sqrt(2 * degrees)


def test_boilerplate_comes_as_often_as_asked() -> None:
    known = {tuple(line.split()) for line in BOILERPLATE}
    for probability in (0.0, 0.22, 1.0):
        sentences = [
            sentence
            for document in made(1, 100, boilerplate_probability=probability)
            for sentence in document.sentences
        ]
        share = np.mean([sentence in known for sentence in sentences])
        assert share == pytest.approx(
            probability, abs=4 * np.sqrt(probability * (1 - probability) / len(sentences))
        )


def test_words_stick_within_a_document_and_not_across() -> None:
    def places_by_document(stickiness: float) -> list[list[str]]:
        towns = set(SLOT_WORDS["place"])
        return [
            [word for sentence in document.sentences for word in sentence if word in towns]
            for document in made(3, 200, stickiness=stickiness)
        ]

    assert all(len(set(places)) <= 1 for places in places_by_document(1.0))
    assert len({places[0] for places in places_by_document(1.0) if places}) > 20
    repeats = [
        np.mean([1 - len(set(places)) / len(places) for places in places_by_document(s) if places])
        for s in (0.0, 0.3, 0.7)
    ]
    assert repeats == sorted(repeats)
    assert repeats[2] > repeats[0] + 0.2


def test_a_lower_exponent_and_jitter_both_bring_words_that_training_lacks() -> None:
    known = set(word_counts(synthetic_corpora(1).training))

    def unknown_share(**knobs: float) -> float:
        counts = word_counts(made(9, 100, **knobs))
        return sum(count for word, count in counts.items() if word not in known) / counts.total()

    assert (
        unknown_share(word_frequency_exponent=0.6)
        > unknown_share()
        > unknown_share(word_frequency_exponent=1.1)
    )
    assert unknown_share(word_frequency_jitter=1.5) > unknown_share()


def test_no_word_belongs_to_two_slots_or_to_the_fixed_text() -> None:
    words = [word for lexicon in SLOT_WORDS.values() for word in lexicon]
    assert len(words) == len(set(words))
    fixed = {word for line in (*TEMPLATES, *BOILERPLATE) for word in line.split()}
    assert not fixed & set(words)


@pytest.mark.parametrize(
    ("knobs", "found"),
    [
        ({"word_frequency_exponent": -0.1}, r"got -0\.1"),
        ({"word_frequency_jitter": float("nan")}, "got nan"),
        ({"boilerplate_probability": 1.5}, r"got 1\.5"),
        ({"stickiness": -1.0}, r"got -1\.0"),
        ({"shortest_document": 30}, "got 30 and 25"),
    ],
)
def test_a_knob_out_of_range_is_refused(knobs: dict[str, float], found: str) -> None:
    with pytest.raises(GeneratorError, match=found):
        FilingSettings(**knobs)  # type: ignore[arg-type]


def test_plain_text_is_cut_at_stops_before_capitals_at_empty_lines_and_at_points() -> None:
    text = "Net sales rose 3.5% to $1,204.2. We don't expect more; They fell.\n\n• Rates\n• Yields"
    assert sentence_document("a", text).sentences == (
        ("net", "sales", "rose", "3.5%", "to", "$1,204.2"),
        ("we", "don't", "expect", "more"),
        ("they", "fell"),
        ("rates",),
        ("yields",),
    )


def test_the_bytes_of_a_text_are_counted_once_each() -> None:
    from flows.language_models.vocabulary import encode, vocabulary_of

    document = sentence_document("a", "Ventes élevées. Net sales rose.")
    text = encode(vocabulary_of([document]), [document])
    assert text.byte_count.sum() == len(document.text.encode())
    assert len(text) == document.token_count
