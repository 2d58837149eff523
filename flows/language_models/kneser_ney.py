"""The interpolated Kneser–Ney trigram: exact rows, each distinct one built once.

Counts are kept as sorted codes, so building and scoring are sorts and look-ups over whole texts.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flows.language_models.errors import DiscountError
from flows.language_models.forecasts import Forecasts
from flows.language_models.vocabulary import EncodedText, Vocabulary

LARGEST_DISCOUNT = 0.99
"""A discount of 1 would take all mass from what was seen once."""


@dataclass(frozen=True)
class Discounts:
    """What is taken from every count of an order, in [0, 1).

    Attributes
    ----------
    trigram, bigram, unigram : float
        A unigram discount of 0 calls ``<unk>`` impossible after any context.
    """

    trigram: float
    bigram: float
    unigram: float

    def __post_init__(self) -> None:
        for name in ("trigram", "bigram", "unigram"):
            if not 0.0 <= getattr(self, name) < 1.0:
                raise DiscountError(
                    f"the {name} discount must be at least 0 and below 1, "
                    f"got {getattr(self, name)}."
                )

    def scaled(self, discount_factor: float) -> Discounts:
        """Multiply by a factor, each capped at `LARGEST_DISCOUNT`; infinity is the cap itself.

        Examples
        --------
        >>> Discounts(0.5, 0.75, 0.75).scaled(0.5)
        Discounts(trigram=0.25, bigram=0.375, unigram=0.375)
        """
        if not discount_factor > 0.0:
            raise DiscountError(f"discount_factor must be above 0, got {discount_factor}.")
        return Discounts(
            *(
                min(discount_factor * each, LARGEST_DISCOUNT) if each else 0.0
                for each in (self.trigram, self.bigram, self.unigram)
            )
        )


@dataclass(frozen=True)
class NgramLevel:
    """Counts of one order: what followed each context, and how often.

    Attributes
    ----------
    context : ndarray of int64, shape (contexts,)
        Codes of the contexts seen, sorted.
    start : ndarray of int64, shape (contexts + 1,)
        Where the outcomes of a context begin and end.
    outcome, count : ndarray of int64, shape (ngrams,)
        Outcomes by context and number, and their counts: of the trigrams how often, of the orders
        below after how many different words (continuation counts).
    """

    context: NDArray[np.int64]
    start: NDArray[np.int64]
    outcome: NDArray[np.int64]
    count: NDArray[np.int64]

    def place_of(self, codes: NDArray[np.int64]) -> NDArray[np.int64]:
        """Place of each context, −1 where it was never seen."""
        place = np.searchsorted(self.context, codes)
        place[place == len(self.context)] = 0
        return np.where(self.context[place] == codes, place, -1)

    @property
    def discount(self) -> float:
        """Ney's estimate D = n₁/(n₁ + 2n₂), n_k the n-grams counted k times [1]_.

        Raises
        ------
        DiscountError
            No n-gram was counted once, or none once or twice.

        References
        ----------
        .. [1] Ney, Essen and Kneser, 1994, equation for absolute discounting.
        """
        once, twice = (int((self.count == k).sum()) for k in (1, 2))
        if not once:
            raise DiscountError(
                "some n-grams of every order must be counted once to estimate a discount, got "
                "none; give the discounts."
            )
        return min(once / (once + 2 * twice), LARGEST_DISCOUNT)


@dataclass(frozen=True)
class KneserNeyTrigram:
    r"""Interpolated Kneser–Ney with one discount per order [1]_.

    .. math::

        p_3(w \mid uv) &= \frac{\max(c(uvw) - D_3, 0) + D_3 N_{1+}(uv\cdot)\, p_2(w \mid v)}
                               {c(uv\cdot)} \\
        p_2(w \mid v) &= \frac{\max(N_{1+}(\cdot vw) - D_2, 0) + D_2 N_{1+}(v\cdot)\, p_1(w)}
                              {N_{1+}(\cdot v\cdot)} \\
        p_1(w) &= \frac{\max(N_{1+}(\cdot w) - D_1, 0) + D_1 T / V}{N_{1+}(\cdot\cdot)}

    with T the types that have a continuation count. A sentence is preceded by two begin marks,
    which are never an outcome, and its end is one. The uniform base of p₁ leaves ``<unk>`` last in
    every row where it never came in training.

    Attributes
    ----------
    vocabulary : Vocabulary
    discounts : Discounts
    trigrams, bigrams, unigrams : NgramLevel
        Contexts are coded u·(V + 1) + v, v and 0.

    References
    ----------
    .. [1] Kneser and Ney, 1995; Chen and Goodman, 1999, section 2.7, without their three discounts.
    """

    vocabulary: Vocabulary
    discounts: Discounts
    trigrams: NgramLevel
    bigrams: NgramLevel
    unigrams: NgramLevel

    def forecast(self, text: EncodedText) -> Forecasts:
        """Forecast every token of *text*.

        A context that was never seen shares the row of its last word, and an unseen last word the
        unigram row: the rows are distinct by construction where their contexts are.
        """
        last = text.previous(self.vocabulary.begin_id, 1)
        code = text.previous(self.vocabulary.begin_id, 2) * self._base + last
        context = self.trigrams.place_of(code)
        word = self.bigrams.place_of(last)
        # One key per row: trigram contexts first, then last words, then the unigram row.
        trigram_count, bigram_count = len(self.trigrams.context), len(self.bigrams.context)
        key = np.where(
            context >= 0,
            context,
            trigram_count + np.where(word >= 0, word, bigram_count),
        )
        used, row_of_token = np.unique(key, return_inverse=True)
        probabilities = self._rows(used)
        with np.errstate(divide="ignore"):  # impossible outcomes: see `Discounts`
            rows = np.log(probabilities, out=probabilities)
        return Forecasts(rows, row_of_token.astype(np.int64), text)

    @property
    def _base(self) -> int:
        return self.vocabulary.outcome_count + 1

    def _rows(self, keys: NDArray[np.int64]) -> NDArray[np.float64]:
        """Probabilities of sorted row keys, shape (keys, V)."""
        trigram_count, bigram_count = len(self.trigrams.context), len(self.bigrams.context)
        outcome_count = self.vocabulary.outcome_count
        uniform = np.full((1, outcome_count), 1.0 / outcome_count)
        base = _interpolated(self.unigrams, self.discounts.unigram, np.zeros(1, np.int64), uniform)
        contexts = keys[keys < trigram_count]
        last_words = keys[(keys >= trigram_count) & (keys < trigram_count + bigram_count)]
        word_of_context = self.bigrams.place_of(self.trigrams.context[contexts] % self._base)
        words = np.union1d(word_of_context, last_words - trigram_count)
        below = _interpolated(
            self.bigrams, self.discounts.bigram, words, np.broadcast_to(base, (1, outcome_count))
        )
        above = _interpolated(
            self.trigrams,
            self.discounts.trigram,
            contexts,
            below[np.searchsorted(words, word_of_context)],
        )
        backed_off = below[np.searchsorted(words, last_words - trigram_count)]
        has_unigram_row = len(keys) > len(contexts) + len(last_words)
        return np.concatenate([above, backed_off, base[:has_unigram_row]])


def _interpolated(
    level: NgramLevel,
    discount: float,
    places: NDArray[np.int64],
    lower: NDArray[np.float64],
) -> NDArray[np.float64]:
    """Discount the counts after the contexts at *places* and give the rest to *lower*."""
    first, last = level.start[places], level.start[places + 1]
    sizes = last - first
    row = np.repeat(np.arange(len(places)), sizes)
    ngram = np.arange(len(row)) - np.repeat(np.cumsum(sizes) - sizes, sizes) + first[row]
    totals = np.bincount(row, weights=level.count[ngram], minlength=len(places))
    rows = np.empty((len(places), lower.shape[1]))
    np.multiply((discount * sizes / totals)[:, None], lower, out=rows)
    rows[row, level.outcome[ngram]] += (level.count[ngram] - discount) / totals[row]
    return rows


def kneser_ney_trigram(
    vocabulary: Vocabulary,
    training: EncodedText,
    discount_factor: float = 1.0,
    discounts: Discounts | None = None,
) -> KneserNeyTrigram:
    """Count a training text.

    Parameters
    ----------
    vocabulary : Vocabulary
    training : EncodedText
        Encoded with it; at least one sentence.
    discount_factor : float
        Scales every discount; infinity puts all at `LARGEST_DISCOUNT`.
    discounts : Discounts, optional
        Ney's estimate of every order by default.

    Raises
    ------
    DiscountError
        A discount is out of range, or cannot be estimated.
    """
    base = vocabulary.outcome_count + 1
    begin = vocabulary.begin_id
    first, second = training.previous(begin, 2), training.previous(begin, 1)
    trigram, count = np.unique(
        (first * base + second) * base + training.token_id, return_counts=True
    )
    bigram, after_how_many = np.unique(trigram % (base * base), return_counts=True)
    unigram, after_words = np.unique(bigram % base, return_counts=True)
    levels = (
        _level(trigram, count, base),
        _level(bigram, after_how_many, base),
        _level(unigram, after_words, base),
    )
    if discounts is None:
        discounts = Discounts(*(level.discount for level in levels))
    return KneserNeyTrigram(vocabulary, discounts.scaled(discount_factor), *levels)


def _level(codes: NDArray[np.int64], count: NDArray[np.int64], base: int) -> NgramLevel:
    """Split sorted n-gram codes into contexts and outcomes."""
    contexts, outcomes = np.divmod(codes, base)
    context, start = np.unique(contexts, return_index=True)
    return NgramLevel(context, np.append(start, len(codes)), outcomes, count)
