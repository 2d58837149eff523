"""The synthetic filings generator: seeded text whose word frequencies can be shifted at will."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass, field

import numpy as np

from flows.corpora.errors import GeneratorError
from flows.corpora.filing_grammar import BOILERPLATE, SLOT_WORDS, TEMPLATES
from flows.corpora.sentence_documents import SentenceDocument

TRAINING_DOCUMENTS = 300
"""About 70,000 tokens at the default settings."""

TEST_DOCUMENTS = 100

RANK_OFFSET = 2.0
"""Of the Zipf-Mandelbrot law, weight 1/(rank + offset)^exponent: the first ranks are levelled."""


@dataclass(frozen=True)
class FilingSettings:
    """The knobs of the generator.

    Attributes
    ----------
    word_frequency_exponent : float
        Of the Zipf-Mandelbrot law of every slot, at least 0. Lower means more rare words.
    word_frequency_jitter : float
        Standard deviation of a normal tilt of every log frequency, at least 0; drawn once per
        generator.
    boilerplate_probability : float
        Chance of a sentence to be boilerplate, in [0, 1].
    stickiness : float
        Chance of a slot to repeat a word that the document has in such a slot, in [0, 1].
    shortest_document, longest_document : int
        Sentences of a document, drawn evenly, ends included.
    """

    word_frequency_exponent: float = 0.85
    word_frequency_jitter: float = 0.0
    boilerplate_probability: float = 0.22
    stickiness: float = 0.3
    shortest_document: int = 15
    longest_document: int = 25

    def __post_init__(self) -> None:
        for name in ("word_frequency_exponent", "word_frequency_jitter"):
            if not 0.0 <= getattr(self, name) < float("inf"):
                raise GeneratorError(
                    f"{name} must be at least 0 and finite, got {getattr(self, name)}."
                )
        for name in ("boilerplate_probability", "stickiness"):
            if not 0.0 <= getattr(self, name) <= 1.0:
                raise GeneratorError(f"{name} must be in [0, 1], got {getattr(self, name)}.")
        if not 1 <= self.shortest_document <= self.longest_document:
            raise GeneratorError(
                "shortest_document must be at least 1 and at most longest_document, got "
                f"{self.shortest_document} and {self.longest_document}."
            )


HELD_SETTINGS = FilingSettings(word_frequency_exponent=0.8, word_frequency_jitter=0.35)
"""Of the test set `held`: a mild shift of word frequencies, the grammar unchanged."""


@dataclass
class FilingGenerator:
    """A source of documents that can be run on: each call goes on where the last one stopped.

    Parameters
    ----------
    settings : FilingSettings
    rng : numpy.random.Generator
        All randomness comes from it, in a fixed order, so a seed names the whole stream.

    Examples
    --------
    >>> generator = FilingGenerator(FilingSettings(), np.random.default_rng(0))
    >>> [document.document_name for document in generator.documents(2)]
    ['synthetic-00000', 'synthetic-00001']
    >>> generator.documents(1)[0].document_name
    'synthetic-00002'
    """

    settings: FilingSettings
    rng: np.random.Generator
    _made_count: int = field(default=0, init=False)
    _cumulative: dict[str, list[float]] = field(default_factory=dict, init=False)

    def __post_init__(self) -> None:
        for slot, words in SLOT_WORDS.items():
            rank = np.arange(1, len(words) + 1)
            weights = (rank + RANK_OFFSET) ** -self.settings.word_frequency_exponent
            tilt = self.settings.word_frequency_jitter * self.rng.standard_normal(len(words))
            cumulative = np.cumsum(weights * np.exp(tilt))
            self._cumulative[slot] = (cumulative / cumulative[-1]).tolist()

    def documents(self, document_count: int) -> list[SentenceDocument]:
        """Write the next *document_count* documents."""
        return [self._document() for _ in range(document_count)]

    def _document(self) -> SentenceDocument:
        shortest, longest = self.settings.shortest_document, self.settings.longest_document
        used: dict[str, list[str]] = {slot: [] for slot in SLOT_WORDS}
        sentences = tuple(
            self._sentence(used) for _ in range(self.rng.integers(shortest, longest, endpoint=True))
        )
        name = f"synthetic-{self._made_count:05d}"
        self._made_count += 1
        return SentenceDocument(name, sentences)

    def _sentence(self, used: dict[str, list[str]]) -> tuple[str, ...]:
        if self.rng.random() < self.settings.boilerplate_probability:
            return tuple(BOILERPLATE[self.rng.integers(len(BOILERPLATE))].split())
        template = TEMPLATES[self.rng.integers(len(TEMPLATES))]
        return tuple(
            self._fill(part[1:-1], used) if part.startswith("{") else part
            for part in template.split()
        )

    def _fill(self, slot: str, used: dict[str, list[str]]) -> str:
        """Draw a word; one drawn often before is the likelier to stick."""
        before = used[slot]
        if before and self.rng.random() < self.settings.stickiness:
            word = before[self.rng.integers(len(before))]
        else:
            place = bisect_right(self._cumulative[slot], self.rng.random())
            word = SLOT_WORDS[slot][min(place, len(SLOT_WORDS[slot]) - 1)]
        before.append(word)
        return word


@dataclass(frozen=True)
class SyntheticCorpora:
    """Training text and its two test sets.

    Attributes
    ----------
    training, continuation, held : list of SentenceDocument
        `continuation` is the training generator run on; `held` a fresh one with other settings.
    """

    training: list[SentenceDocument]
    continuation: list[SentenceDocument]
    held: list[SentenceDocument]


def synthetic_corpora(
    seed: int,
    settings: FilingSettings | None = None,
    held_settings: FilingSettings = HELD_SETTINGS,
    training_document_count: int = TRAINING_DOCUMENTS,
    test_document_count: int = TEST_DOCUMENTS,
) -> SyntheticCorpora:
    """Write the corpora of one seed; `held` has a stream of its own, spawned from it.

    Changing the held settings changes neither of the other two.
    """
    own, shifted = np.random.default_rng(seed).spawn(2)
    generator = FilingGenerator(settings or FilingSettings(), own)
    training = generator.documents(training_document_count)
    continuation = generator.documents(test_document_count)
    held = FilingGenerator(held_settings, shifted).documents(test_document_count)
    return SyntheticCorpora(training, continuation, held)
