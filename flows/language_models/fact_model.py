"""The fact model: what a language model says about facts it read often, once, or never."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from flows.language_models.errors import FactError
from flows.language_models.forecasts import Forecasts
from flows.language_models.vocabulary import EncodedText

PROBE_COUNT = 111
"""Facts, each probed once: the document's 30 + 33 + 48."""

OBJECT_COUNT = 24
"""Places that a head office can be in."""

MENTION_COUNT = 170
"""Sentences of the training text that state a fact."""

POPULARITY_EXPONENT = 1.0
"""Of the Zipf law by which mentions choose their subject: few are named often, many never."""


class FactRegime(StrEnum):
    """How often the training text states a fact."""

    SEEN_TWICE_OR_MORE = "seen_twice_or_more"
    SEEN_ONCE = "seen_once"
    NEVER_SEEN = "never_seen"


@dataclass(frozen=True)
class FactWorld:
    """Subjects, the one object of each, and how often a training text states it.

    Attributes
    ----------
    object_of_subject : ndarray of int64, shape (subjects,)
        From 0 to `object_count` − 1.
    mention_count : ndarray of int64, shape (subjects,)
        Every mention is true.
    object_count : int
    """

    object_of_subject: NDArray[np.int64]
    mention_count: NDArray[np.int64]
    object_count: int

    def __post_init__(self) -> None:
        if len(self.object_of_subject) != len(self.mention_count):
            raise FactError(
                "every subject must have one object and one count, got "
                f"{len(self.object_of_subject)} objects and {len(self.mention_count)} counts."
            )
        if not self.mention_count.any():
            raise FactError("a training text must state at least one fact, got none.")

    @property
    def regime(self) -> NDArray[np.str_]:
        """Regime of every subject, shape (subjects,)."""
        names = [FactRegime.NEVER_SEEN, FactRegime.SEEN_ONCE, FactRegime.SEEN_TWICE_OR_MORE]
        return np.array([name.value for name in names])[np.minimum(self.mention_count, 2)]


def draw_fact_world(rng: np.random.Generator) -> FactWorld:
    """Draw objects evenly and mentions by popularity.

    An object says nothing about how popular its subject is; yet the text names most often the
    objects of its few popular subjects, and a fact that it never states has any object.
    """
    popularity = np.arange(1, PROBE_COUNT + 1) ** -POPULARITY_EXPONENT
    return FactWorld(
        rng.integers(OBJECT_COUNT, size=PROBE_COUNT),
        rng.multinomial(MENTION_COUNT, popularity / popularity.sum()),
        OBJECT_COUNT,
    )


@dataclass(frozen=True)
class FactModel:
    r"""Object given subject, by absolute discounting on the frequency of objects in the text.

    .. math:: p(o \mid s) = \frac{\max(c(s, o) - D, 0) + D\,[c(s) > 0]\, q(o)}{c(s)}, \qquad
              q(o) = \frac{c(o) + 1/K}{c + 1}

    and q alone where the subject never came; K objects, D = n₁/(n₁ + 2n₂) over subjects.

    Attributes
    ----------
    world : FactWorld
    discount : float
        D, in (0, 1).
    """

    world: FactWorld
    discount: float

    @classmethod
    def of(cls, world: FactWorld) -> FactModel:
        """Read the training text of *world*.

        Raises
        ------
        FactError
            No subject came once, or none twice: a discount would be 0, 1 or undefined.
        """
        once, twice = (int((world.mention_count == k).sum()) for k in (1, 2))
        if not (once and twice):
            raise FactError(
                "some facts must be stated once and some twice to estimate a discount, got "
                f"{once} and {twice}."
            )
        return cls(world, once / (once + 2 * twice))

    def forecast(self) -> Forecasts:
        """Forecast the object of every subject: one probe each, in a sentence of its own.

        Subjects of equal count and object share a row, and all that never came share one: no row
        serves two regimes. Outcomes are objects only, so no token is unknown: outcome k + 2 is
        object k, and the two marks are impossible.
        """
        world = self.world
        counts = np.bincount(
            world.object_of_subject, weights=world.mention_count, minlength=world.object_count
        )
        base = (counts + 1.0 / world.object_count) / (counts.sum() + 1.0)
        # Where nothing was stated the object plays no part.
        objects = np.where(world.mention_count > 0, world.object_of_subject, 0)
        keys, row_of_token = np.unique(
            np.stack([world.mention_count, objects], axis=1), axis=0, return_inverse=True
        )
        rows = np.full((len(keys), world.object_count + 2), -np.inf)
        for place, (count, fact_object) in enumerate(keys):
            row = base.copy()
            if count:
                row *= self.discount / count
                row[fact_object] += (count - self.discount) / count
            rows[place, 2:] = np.log(row)
        return Forecasts(rows, row_of_token.ravel().astype(np.int64), _probes(world))


def _probes(world: FactWorld) -> EncodedText:
    """Return the object of every subject as a text of one token per sentence."""
    place = np.arange(len(world.object_of_subject))
    none = np.zeros_like(place)
    return EncodedText(world.object_of_subject + 2, none, place, place, none)
