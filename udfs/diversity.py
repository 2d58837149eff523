"""Diversity of a set of stories: mean pairwise distances, exactly and fast.

No sum depends on the order of the stories, so a rebuild gives the same bits however the rows arrive
and however many threads there are.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from udfs.errors import CalibraryError


class DiversityError(CalibraryError):
    """A set of stories holds something that has no distance."""


def mean_pairwise_cosine_distance(embeddings: ArrayLike) -> float | None:
    r"""Mean cosine distance over all pairs of one set of stories.

    .. math:: D_{sem} = \frac{2}{n(n-1)} \sum_{i<j} (1 - \cos(e_i, e_j))
              = 1 - \frac{\|\sum_i \hat e_i\|^2 - n}{n(n-1)}

    The right-hand side needs one sum instead of n(n-1)/2 products [1]_.

    Parameters
    ----------
    embeddings : array_like of float, shape (n, dimension)
        One row per story, of any length above 0: rows are scaled to length 1 here, in double
        precision, whatever the precision they were stored in.

    Returns
    -------
    float or None
        Dimensionless, in [0, n/(n-1)]: above 1 where embeddings point away from each other. Two
        equal rows give 0 up to rounding, never below 0. None for fewer than two stories: a single
        story has no diversity, which is not a diversity of 0.

    Raises
    ------
    DiversityError
        A row is zero or not finite and so has no direction, or rows differ in dimension.

    References
    ----------
    .. [1] *The Geometry of Creative Variability*, section 3.4.1.

    Examples
    --------
    >>> mean_pairwise_cosine_distance([[1.0, 0.0], [0.0, 2.0]])
    1.0
    >>> mean_pairwise_cosine_distance([[1.0, 0.0]]) is None
    True
    """
    try:
        rows = np.asarray(embeddings, dtype=np.float64)
    except ValueError:
        rows = np.empty(1)
    if rows.ndim != 2 and rows.size:
        raise DiversityError(
            "the embeddings of a set must be numbers and all of one dimension, got another table; "
            "measure its stories with one embedding model."
        )
    n = len(rows)
    if n < 2:
        return None
    lengths = np.sqrt((rows * rows).sum(axis=1))
    bad = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0.0)))
    if len(bad):
        raise DiversityError(
            f"an embedding must be finite and not zero, got length {lengths[bad[0]]} "
            f"in story {bad[0]} of its set; measure that story again."
        )
    # Sorted columns make each sum independent of the order of stories.
    total = np.sort(rows / lengths[:, None], axis=0).sum(axis=0)
    squared = math.fsum((total * total).tolist())
    # Equal rows can come out a few 1e-16 below 0, outside what a distance can be.
    return max(1.0 - (squared - n) / (n * (n - 1)), 0.0)


def mean_pairwise_jaccard_distance(item_sets: Sequence[Sequence[str]]) -> float | None:
    r"""Mean Jaccard distance over all pairs of one set of stories.

    .. math:: D = \frac{2}{n(n-1)} \sum_{i<j} \left(1 - \frac{|V_i \cap V_j|}{|V_i \cup V_j|}\right)

    Lexical diversity with word sets, syntactic diversity with sets of part-of-speech bigrams [1]_.

    Parameters
    ----------
    item_sets : sequence of sequence of str, length n
        One set per story; an item given twice counts once.

    Returns
    -------
    float or None
        Dimensionless, in [0, 1]. None for fewer than two stories, and where two stories are both
        empty: the distance of two empty sets is not defined.

    References
    ----------
    .. [1] *The Geometry of Creative Variability*, sections 3.4.2 and 3.4.3.

    Examples
    --------
    >>> mean_pairwise_jaccard_distance([["a", "b"], ["b", "c", "d"]])
    0.75
    >>> mean_pairwise_jaccard_distance([[], []]) is None
    True
    """
    if len(item_sets) < 2:
        return None
    vocabulary: dict[str, int] = {}
    codes = [
        [vocabulary.setdefault(item, len(vocabulary)) for item in items] for items in item_sets
    ]
    return jaccard_distance_of_codes(
        np.array([code for story in codes for code in story], dtype=np.int64),
        np.cumsum([0, *(len(story) for story in codes)]),
        np.empty(len(vocabulary), dtype=np.int64),
    )


def jaccard_distance_of_codes(
    codes: NDArray[np.int64], offsets: NDArray[np.int64], places: NDArray[np.int64]
) -> float | None:
    """Mean pairwise Jaccard distance of one set of stories, given as integer codes.

    Story k holds ``codes[offsets[k]:offsets[k + 1]]``. All intersections come from one product of
    the 0/1 membership matrix with itself. *places* is scratch space with one entry per possible
    code, reused from set to set: it gives equal codes one column without sorting them.
    """
    story_count = len(offsets) - 1
    if story_count < 2:
        return None
    occurrences = np.arange(len(codes))
    places[codes] = occurrences
    last = places[codes]
    # Codes are numbered by their last occurrence: as many columns as there are distinct codes.
    columns = np.cumsum(last == occurrences)[last] - 1
    column_count = int(columns.max(initial=-1)) + 1
    # Single precision counts exactly up to 2**24 items and is twice as fast.
    membership = np.zeros((story_count, column_count), dtype=np.float32)
    membership[np.repeat(np.arange(story_count), np.diff(offsets)), columns] = 1.0
    first, second = _pairs(story_count)
    counts = (membership @ membership.T).astype(np.int64)
    shared = counts[first, second]
    sizes = counts.diagonal()
    union = sizes[first] + sizes[second] - shared
    if (union == 0).any():
        return None
    return math.fsum(((union - shared) / union).tolist()) / len(first)


@functools.lru_cache(maxsize=16)
def _pairs(story_count: int) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Return the first and the second place of every pair; most sets have one size."""
    return np.triu_indices(story_count, k=1)
