"""Claims about Kneser–Ney rows: exact fractions, nltk, and what follows from the formula."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from nltk.lm import KneserNeyInterpolated
from nltk.lm.vocabulary import Vocabulary as NltkVocabulary

from flows.corpora.sentence_documents import SentenceDocument
from flows.language_models.errors import DiscountError
from flows.language_models.kneser_ney import Discounts, KneserNeyTrigram, kneser_ney_trigram
from flows.language_models.vocabulary import UNKNOWN_ID, EncodedText, encode, vocabulary_of

SENTENCES = (
    "net sales rose sharply",
    "net sales fell",
    "net income rose",
    "costs fell sharply again",
    "net sales rose",
)
DOCUMENT = SentenceDocument("five", tuple(tuple(line.split()) for line in SENTENCES))
VOCABULARY = vocabulary_of([DOCUMENT])
TRAINING = encode(VOCABULARY, [DOCUMENT])
NAMES = VOCABULARY.outcome_names
PADDED = [("<s>", "<s>", *line.split(), "</s>") for line in SENTENCES]
TRIGRAMS = Counter(
    tuple(line[place : place + 3]) for line in PADDED for place in range(len(line) - 2)
)
UNSEEN = SentenceDocument(
    "unseen", (("profits", "rose"), ("sales", "net", "again", "fell"), ("again", "again"))
)
"""Contexts seen, half seen and never seen; words known and unknown."""


def discounted_by_hand(name: str) -> Fraction:
    """Ney's estimate, counted here from the sentences."""
    counts = {
        "trigram": Counter(TRIGRAMS),
        "bigram": Counter(gram[1:] for gram in TRIGRAMS),
    }
    counts["unigram"] = Counter(gram[1] for gram in counts["bigram"])
    seen = list(counts[name].values())
    return Fraction(seen.count(1), seen.count(1) + 2 * seen.count(2))


def row_by_hand(first: str, second: str, outcome: str, discounts: dict[str, Fraction]) -> Fraction:
    """p₃ as the textbook writes it, in fractions."""
    bigrams = Counter(gram[1:] for gram in TRIGRAMS)
    unigrams = Counter(gram[1] for gram in bigrams)
    total = sum(unigrams.values())
    size, types = len(NAMES), len(unigrams)
    d1, d2, d3 = (discounts[name] for name in ("unigram", "bigram", "trigram"))
    probability = max(unigrams[outcome] - d1, Fraction(0)) / total
    probability += d1 * types / total / size
    after = {gram[1]: count for gram, count in bigrams.items() if gram[0] == second}
    if after:
        mass = sum(after.values())
        kept = max(after.get(outcome, 0) - d2, Fraction(0)) / mass
        probability = kept + d2 * len(after) / mass * probability
    after = {gram[2]: count for gram, count in TRIGRAMS.items() if gram[:2] == (first, second)}
    if after:
        mass = sum(after.values())
        kept = max(after.get(outcome, 0) - d3, Fraction(0)) / mass
        probability = kept + d3 * len(after) / mass * probability
    return probability


def contexts_of(document: SentenceDocument) -> list[tuple[str, str]]:
    found = []
    for sentence in document.sentences:
        known = [word if word in VOCABULARY.id_of else "<unk>" for word in sentence]
        padded = ["<s>", "<s>", *known]
        found += [(padded[place], padded[place + 1]) for place in range(len(known) + 1)]
    return found


@pytest.mark.parametrize("document", [DOCUMENT, UNSEEN])
def test_every_row_equals_exact_fractions_on_five_sentences(document: SentenceDocument) -> None:
    trigram = kneser_ney_trigram(VOCABULARY, TRAINING)
    discounts = {name: discounted_by_hand(name) for name in ("trigram", "bigram", "unigram")}
    for name, exact in discounts.items():
        assert getattr(trigram.discounts, name) == float(exact)
    forecasts = trigram.forecast(encode(VOCABULARY, [document]))
    rows = np.exp(forecasts.log_probabilities)[forecasts.row_of_token]
    for row, (first, second) in zip(rows, contexts_of(document), strict=True):
        exact = [row_by_hand(first, second, name, discounts) for name in NAMES]
        assert sum(exact) == 1
        assert row.tolist() == pytest.approx([float(each) for each in exact], rel=1e-14)


@pytest.mark.parametrize("discount", [0.1, 0.5, 0.75, 0.9])
def test_rows_equal_nltk_where_both_define_the_same(discount: float) -> None:
    """One discount, none for unigrams, and n-grams that end in an outcome: nltk's own padding
    would count the begin mark as an outcome, and its rows would not sum to 1."""
    oracle = KneserNeyInterpolated(
        3, discount=discount, vocabulary=NltkVocabulary((*NAMES[2:], "</s>", "<s>"), unk_cutoff=1)
    )
    oracle.fit(
        [
            [line[place + 3 - size : place + 3] for place in range(len(line) - 2)]
            for line in PADDED
            for size in (1, 2, 3)
        ]
    )
    trigram = kneser_ney_trigram(VOCABULARY, TRAINING, discounts=Discounts(discount, discount, 0.0))
    forecasts = trigram.forecast(TRAINING)
    rows = np.exp(forecasts.log_probabilities)[forecasts.row_of_token]
    for row, context in zip(rows, contexts_of(DOCUMENT), strict=True):
        for place, name in enumerate(NAMES):
            if place != UNKNOWN_ID:
                assert row[place] == pytest.approx(oracle.score(name, context), abs=1e-15)


def test_every_row_of_a_large_text_sums_to_1(trigram: KneserNeyTrigram, continuation) -> None:  # type: ignore[no-untyped-def]
    sums = np.exp(continuation.log_probabilities).sum(axis=1)
    assert np.abs(sums - 1.0).max() < 1e-12


def test_unknown_is_strictly_last_in_every_row(continuation) -> None:  # type: ignore[no-untyped-def]
    rows = continuation.log_probabilities
    others = np.delete(rows, UNKNOWN_ID, axis=1)
    assert (rows[:, UNKNOWN_ID] < others.min(axis=1)).all()


def test_contexts_that_were_never_seen_share_the_row_of_their_last_word() -> None:
    trigram = kneser_ney_trigram(VOCABULARY, TRAINING)
    text = encode(
        VOCABULARY,
        [
            SentenceDocument(
                "a", (("again", "net", "fell"), ("fell", "net"), ("profits", "profits"))
            )
        ],
    )
    row = trigram.forecast(text).row_of_token
    # After (again, net) and (fell, net); after (<s>, <unk>) and (<unk>, <unk>).
    assert row[2] == row[6]
    assert row[8] == row[9]
    assert len(set(row.tolist())) == len(trigram.forecast(text).log_probabilities)


def test_a_factor_scales_every_discount_up_to_the_cap() -> None:
    own = kneser_ney_trigram(VOCABULARY, TRAINING).discounts
    half = kneser_ney_trigram(VOCABULARY, TRAINING, 0.5).discounts
    assert half == Discounts(own.trigram / 2, own.bigram / 2, own.unigram / 2)
    capped = kneser_ney_trigram(VOCABULARY, TRAINING, math.inf).discounts
    assert capped == Discounts(0.99, 0.99, 0.99)


def test_counts_that_give_no_discount_are_refused() -> None:
    doubled = SentenceDocument("twice", (("sales", "rose"), ("sales", "rose")))
    vocabulary = vocabulary_of([doubled])
    with pytest.raises(DiscountError, match="counted once"):
        kneser_ney_trigram(vocabulary, encode(vocabulary, [doubled]))


def test_an_unknown_word_in_training_is_an_outcome_like_any_other() -> None:
    small = vocabulary_of([DOCUMENT], 6)
    training: EncodedText = encode(small, [DOCUMENT])
    rows = kneser_ney_trigram(small, training, discounts=Discounts(0.5, 0.5, 0.5)).forecast(
        training
    )
    assert np.exp(rows.log_probabilities).sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    assert (rows.log_probabilities[:, UNKNOWN_ID] > rows.log_probabilities.min(axis=1)).any()
