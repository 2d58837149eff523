"""Log Z of forecasts at many inverse temperatures at once, and the temperature sketch of it.

One exponential per logit serves all: from u = exp((z − max)/64), squares reach u³², and each of the
sums Z(β) at the 17 values β = n/64 of `SKETCH_POWERS` takes one product of powers that are already
there. A fixed least-squares matrix turns their logarithms into Chebyshev coefficients.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from numpy.typing import NDArray

from udfs.temperature_sketch import SKETCH_LENGTH, value_basis

_SQUARES = (2, 4, 8, 16, 32)
"""Powers of u made first, each the square of the one before; but for the last they only help."""

_PRODUCTS = (
    (33, 32, 1), (35, 33, 2), (36, 32, 4), (38, 36, 2), (42, 38, 4), (48, 32, 16), (54, 38, 16),
    (64, 32, 32), (70, 35, 35), (80, 42, 38), (90, 48, 42), (102, 54, 48), (113, 80, 33),
    (121, 113, 8), (126, 90, 36), (128, 64, 64),
)  # fmt: skip
"""Powers of u in the order they are made, each with two before it that add up to it."""

SKETCH_POWERS = (32, *(power for power, _, _ in _PRODUCTS))
"""64 β at which the sums are made: Lebesgue constant 3.5 (16 Chebyshev nodes: 2.7).

One more than the coefficients, so that β = 1 itself, where most is asked, is among them: there the
fit is about ten times closer than interpolation from nodes beside it. Between, one likely outcome
over equal others, the worst of forecasts, is off by up to 3.2e-3 nats with 2^18 of them (Chebyshev
nodes: 2.4e-3).
"""

_NEEDED_AFTER = [
    {factor for _, *factors in _PRODUCTS[place + 1 :] for factor in factors}
    for place in range(len(_PRODUCTS))
]
"""Powers that products after the one at each place still use."""

_SUMS_TO_SKETCH: NDArray[np.float64] = np.linalg.pinv(
    np.stack([value_basis(math.log2(power / 64)) for power in SKETCH_POWERS])
)
"""Least squares from log Z at the 17 β to the 16 coefficients, shape (16, 17)."""

PIECES = 48
"""Vocabulary pieces whose float32 sums are added in float64: one long sum is off by 2e-5."""

LOWEST = -1e4
"""Stands for −inf where it is multiplied by a probability of 0; no power of its mass is above 0."""


class Workspace:
    """Arrays as large as the logits of a few rows, used again and again.

    Fresh memory for each intermediate array costs several times the arithmetic: allocators give
    arrays of this size back to the system, which clears every page of the next one.

    Parameters
    ----------
    row_count, outcome_count : int
        Shape of the logits reduced at once.
    device : torch.device

    Attributes
    ----------
    below : torch.Tensor of float32, shape (row_count, pieces, width)
        For logits measured from the top of their row; `LOWEST` beyond the vocabulary.
    is_reached : torch.Tensor of bool, shape (row_count, outcome_count)
        For one comparison with each of them.
    """

    def __init__(self, row_count: int, outcome_count: int, device: torch.device) -> None:
        self._outcome_count = outcome_count
        shape = (row_count, PIECES, -(-outcome_count // PIECES))
        self.below = torch.full(shape, LOWEST, device=device)
        self.is_reached = torch.empty(row_count, outcome_count, dtype=torch.bool, device=device)
        self._free: list[torch.Tensor] = []

    def fitted(self, row_count: int) -> Workspace:
        """Return this for *row_count* rows, or another one: the last rows of all may be fewer."""
        if row_count == len(self.below):
            return self
        return Workspace(row_count, self._outcome_count, self.below.device)

    def take(self) -> torch.Tensor:
        """Return an array of any content, shape (row_count, pieces, width)."""
        return self._free.pop() if self._free else torch.empty_like(self.below)

    def give_back(self, array: torch.Tensor) -> None:
        """Let later calls of `take` have *array*."""
        self._free.append(array)


def summed(values: torch.Tensor) -> torch.Tensor:
    """Return the sum of every row in float64, shape (rows,), of float32 sums of its pieces."""
    return values.sum(dim=-1).double().sum(dim=-1)


def power_sums(work: Workspace) -> torch.Tensor:
    """Return the sums over the vocabulary of the powers in `SKETCH_POWERS`.

    Parameters
    ----------
    work : Workspace
        Its `below` holds the logits.

    Returns
    -------
    torch.Tensor of float64, shape (rows, 17)
    """
    powers = {1: torch.div(work.below, 64.0, out=work.take()).exp_()}
    for power in _SQUARES:
        half = powers[power // 2]
        powers[power] = torch.mul(half, half, out=work.take())
    sums = [summed(powers[32])]
    for (power, one, other), needed in zip(_PRODUCTS, _NEEDED_AFTER, strict=True):
        powers[power] = torch.mul(powers[one], powers[other], out=work.take())
        sums.append(summed(powers[power]))
        for spent in powers.keys() - needed:
            work.give_back(powers.pop(spent))
    return torch.stack(sums, dim=1)


def sketches_of_sums(
    sums: NDArray[np.float64], log_partition: NDArray[np.float64], is_sound: NDArray[np.bool_]
) -> NDArray[np.float32]:
    """Return the temperature sketches of rows.

    Parameters
    ----------
    sums : ndarray of float64, shape (rows, 17)
        Of `power_sums`.
    log_partition : ndarray of float64, shape (rows,)
        Log Z at β = 1, from the top as the sums are.
    is_sound : ndarray of bool, shape (rows,)
        False where a row gets NaN.

    Returns
    -------
    ndarray of float32, shape (rows, 16)
    """
    betas = np.array(SKETCH_POWERS) / 64.0
    values = np.log(sums[is_sound]) - betas * log_partition[is_sound, None]
    sketches = np.full((len(sums), SKETCH_LENGTH), np.nan, dtype=np.float32)
    # Not one matrix product: its last bits depend on how many rows there are.
    sketches[is_sound] = np.stack(
        [(values * weights).sum(axis=1) for weights in _SUMS_TO_SKETCH], axis=1
    )
    return sketches
