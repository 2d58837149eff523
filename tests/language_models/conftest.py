"""One synthetic world, made once, and what the trigram says about it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from flows.corpora.sentence_documents import SentenceDocument
from flows.corpora.synthetic_filings import FilingGenerator, FilingSettings, synthetic_corpora
from flows.language_models.forecasts import Forecasts
from flows.language_models.kneser_ney import KneserNeyTrigram, kneser_ney_trigram
from flows.language_models.vocabulary import EncodedText, Vocabulary, encode, vocabulary_of

CORPUS_SEED = 1
"""Any seed serves: the findings were seen on 0, 1 and 2 before 1 was fixed."""

SHIFT = 0.25
"""Share by which the exponent of word frequencies is lowered or raised."""


@dataclass(frozen=True)
class World:
    """A vocabulary and the texts encoded with it."""

    vocabulary: Vocabulary
    training: EncodedText
    continuation: EncodedText
    more_rare_words: EncodedText
    fewer_rare_words: EncodedText


@dataclass(frozen=True)
class Documents:
    training: list[SentenceDocument]
    continuation: list[SentenceDocument]
    more_rare_words: list[SentenceDocument]
    fewer_rare_words: list[SentenceDocument]


@pytest.fixture(scope="session")
def documents() -> Documents:
    corpora = synthetic_corpora(CORPUS_SEED)
    own = FilingSettings().word_frequency_exponent
    more, fewer = (
        FilingGenerator(FilingSettings(own * factor), np.random.default_rng(101)).documents(100)
        for factor in (1 - SHIFT, 1 + SHIFT)
    )
    return Documents(corpora.training, corpora.continuation, more, fewer)


def world_of(documents: Documents, token_count: int | None) -> World:
    vocabulary = vocabulary_of(documents.training, token_count)
    return World(
        vocabulary,
        *(
            encode(vocabulary, each)
            for each in (
                documents.training,
                documents.continuation,
                documents.more_rare_words,
                documents.fewer_rare_words,
            )
        ),
    )


@pytest.fixture(scope="session")
def world(documents: Documents) -> World:
    return world_of(documents, None)


@pytest.fixture(scope="session")
def small_world(documents: Documents) -> World:
    """The same texts over the 512 tokens of the decoder and of the bigram."""
    return world_of(documents, 512)


@pytest.fixture(scope="session")
def trigram(world: World) -> KneserNeyTrigram:
    return kneser_ney_trigram(world.vocabulary, world.training)


@pytest.fixture(scope="session")
def continuation(world: World, trigram: KneserNeyTrigram) -> Forecasts:
    return trigram.forecast(world.continuation)
