"""The randomness of a sample: a stream of its own, that its key alone determines.

A token is drawn as the one with the largest p/E, where every token of the vocabulary has its own
exponential variate E: the Gumbel maximum, −log E being Gumbel noise [1]_. Drawn for the whole
vocabulary and by token id, a token's variate does not depend on who else is in the set, and a
change of 1e-5 in the logits changes a draw with a probability of that order. (One uniform number
and the cumulative distribution would be cheaper, and would move by a token of the tail each time.)

The variates are drawn in double precision: a uniform number in float32 is a multiple of 2⁻²⁴, and
with 50,000 tokens that lets a token of no probability win once in some hundred steps.

References
----------
.. [1] Maddison, Tarlow and Minka, "A* sampling", NeurIPS 2014, section 2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch

_SMALLEST = float(np.finfo(np.float32).tiny)
"""Keeps p/E finite and comparable; an exponential below 1e-38 comes once in 1e38 draws."""


class SamplingNoise:
    """One stream per row of a batch."""

    def __init__(self, sample_keys: Sequence[str]) -> None:
        """Start the streams of *sample_keys*, each 32 hexadecimal digits."""
        self._streams = [np.random.Generator(np.random.SFC64(int(key, 16))) for key in sample_keys]

    def draw(self, vocabulary_size: int, rows: Iterable[int]) -> torch.Tensor:
        """Return the next exponential variates of *rows*, 1 in every other row.

        Returns
        -------
        torch.Tensor of float32, shape (rows of the batch, vocabulary_size)
            Mean 1, never 0.
        """
        drawn = np.ones((len(self._streams), vocabulary_size), np.float32)
        for row in rows:
            drawn[row] = self._streams[row].standard_exponential(vocabulary_size)
        return torch.from_numpy(np.maximum(drawn, _SMALLEST, out=drawn))


def draw_tokens(log_probabilities: torch.Tensor, exponentials: torch.Tensor) -> torch.Tensor:
    """Return one token id per row, drawn from *log_probabilities* by *exponentials*.

    Both have the shape (rows, vocabulary). A token of probability 0 (−inf) is never drawn.
    """
    return (log_probabilities.exp() / exponentials).argmax(1)
