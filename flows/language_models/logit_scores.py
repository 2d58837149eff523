"""Logits reduced to what a scored token stores, a few rows at a time and in vocabulary pieces.

One exponential per logit serves the whole temperature sketch: from u = exp((z − max)/64), squares
reach u³², and each of the sums Z(β) at the 17 values β = n/64 of `SKETCH_POWERS` takes one product
of powers that are already there. A fixed least-squares matrix turns them into coefficients. A
second exponential gives Z(1), entropy and nucleus, so that no probability is a product of powers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from flows.language_models.scored_tokens import NUCLEUS_MASS
from udfs.prediction_sets import MASS_TOLERANCE
from udfs.temperature_sketch import (
    NODE_INVERSE_TEMPERATURES,
    SKETCH_LENGTH,
    sketch_of_node_values,
    value_basis,
)

_SQUARES = (2, 4, 8, 16, 32)
"""Powers of u made first, each the square of the one before; but for the last they only help."""

_PRODUCTS = (
    (33, 32, 1), (35, 33, 2), (36, 32, 4), (38, 36, 2), (42, 38, 4), (48, 32, 16), (54, 38, 16),
    (64, 32, 32), (70, 35, 35), (80, 42, 38), (90, 48, 42), (102, 54, 48), (113, 80, 33),
    (121, 113, 8), (126, 90, 36), (128, 64, 64),
)  # fmt: skip
"""Powers of u in the order they are made, each with two before it that add up to it."""

SKETCH_POWERS = (32, *(power for power, _, _ in _PRODUCTS))
"""64 β at which the sums are made: Lebesgue constant 3.5 (16 Chebyshev nodes: 2.9).

One more than the coefficients, for the sake of β = 1 itself: Chebyshev's nodes lie beside it, and
there a steep forecast was off by 4e-5 nats, now by 2e-6.
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

_CPU_ROWS, _GPU_ROWS = 8, 128
"""Rows reduced at once: what is made of eight rows stays in a processor's cache."""

_GROUP_ROWS = 32
"""Rows whose few likely outcomes are ranked at once; of all outcomes, where they are alike."""

_LEAST_SHARE = (1.0 - NUCLEUS_MASS) / 2.0
"""Outcomes below this share of 1/V hold less than half of what a nucleus leaves out."""

_SAMPLE_STEP = 64
"""Every 64th outcome is sampled: 768 of 49,152 rank some 0.95 of the mass as well as all do."""

_LOWEST = -1e4
"""Stands for −inf where it is multiplied by a probability of 0."""


@dataclass(frozen=True)
class LogitScores:
    """One entry per row in every array, shape (rows,); sketches (rows, 16).

    As in `flows.language_models.scored_tokens.ScoredTokens`. Rows whose logits hold NaN or +inf
    have NaN for every probability, and rows whose outcome is at −inf have that log-probability;
    both have sketches of NaN.
    """

    top_token_id: NDArray[np.int64]
    confidence: NDArray[np.float64]
    log_probability_nats: NDArray[np.float64]
    entropy_nats: NDArray[np.float64]
    rank: NDArray[np.int64]
    mass_ahead: NDArray[np.float64]
    kept_mass: NDArray[np.float64]
    prediction_set_size: NDArray[np.int64]
    temperature_sketch: NDArray[np.float32]
    mass_ahead_sketch: NDArray[np.float32]


def joined_scores(parts: list[LogitScores]) -> LogitScores:
    """Return *parts*, at least one, one after the other."""
    return LogitScores(
        *(np.concatenate([getattr(part, each.name) for part in parts]) for each in fields(parts[0]))
    )


def logit_scores(logits: torch.Tensor, outcome: torch.Tensor) -> LogitScores:
    """Score the outcome of every row of logits.

    Parameters
    ----------
    logits : torch.Tensor of float, shape (rows, V)
        As the language model gives them, in whatever precision; sums are in float32 or better.
    outcome : torch.Tensor of int64, shape (rows,)
        Token ids that came.

    Returns
    -------
    LogitScores
        Natural logarithms. Ties of the top label go to the lowest id.
    """
    step, group = (_CPU_ROWS, _GROUP_ROWS) if logits.device.type == "cpu" else (_GPU_ROWS,) * 2
    work = _Workspace(min(step, len(logits)), logits.shape[1], logits.device)
    parts = [
        _scores(logits[start : start + group], outcome[start : start + group], step, work)
        for start in range(0, len(logits), group)
    ]
    return joined_scores(parts) if parts else _NO_SCORES


_NO_SCORES = LogitScores(
    *(np.empty(0, kind) for kind in "qdddqddq"),
    *(np.empty((0, SKETCH_LENGTH), np.float32) for _ in range(2)),
)


def _scores(rows: torch.Tensor, outcome: torch.Tensor, step: int, work: _Workspace) -> LogitScores:
    found = _joined(
        [
            _reduced(rows[start : start + step], outcome[start : start + step], work)
            for start in range(0, len(rows), step)
        ]
    )
    row_of, partition, log_partition = found.row_of, found.partition, found.partition.log()
    # Compared as given: two logits can be one number when measured from the top.
    given, own = rows[row_of, found.place_of].float(), found.own[row_of]
    is_ahead = (given > own) | ((given == own) & (found.place_of < outcome[row_of]))
    ahead, ahead_row_of = found.below[is_ahead], row_of[is_ahead]
    is_top = given == found.top[row_of]
    top_token_id = torch.zeros_like(outcome).scatter_reduce_(
        0, row_of[is_top], found.place_of[is_top], "amin", include_self=False
    )
    is_candidate = found.below >= found.least_below[row_of]
    candidate_row_of = row_of[is_candidate]
    candidates = found.below[is_candidate].exp() / partition[candidate_row_of]
    kept_mass, size = _nucleus(candidates, candidate_row_of, len(rows))
    is_sound = torch.isfinite(log_partition) & torch.isfinite(found.own)
    return LogitScores(
        _array(top_token_id),
        _array((-log_partition).exp()),
        _array(found.own.double() - found.top.double() - log_partition),
        _array((log_partition - found.weighted / partition).clamp_min(0.0)),
        _array(torch.bincount(ahead_row_of, minlength=len(rows))),
        _array(_segment_sums(ahead.exp()[:, None], ahead_row_of, len(rows))[:, 0] / partition),
        _array(kept_mass),
        _array(size),
        _temperature_sketches(found.power_sums, log_partition, is_sound),
        _ahead_sketches(ahead, ahead_row_of, log_partition, is_sound),
    )


class _Workspace:
    """Arrays as large as the logits of a few rows, used again and again.

    Fresh memory for each intermediate array costs several times the arithmetic: allocators give
    arrays of this size back to the system, which clears every page of the next one.

    Parameters
    ----------
    row_count : int
        Rows reduced at once, at most.
    outcome_count : int
    device : torch.device

    Attributes
    ----------
    below : torch.Tensor of float32, shape (row_count, pieces, width)
        Logits measured from the top of their row, `_LOWEST` beyond the vocabulary.
    is_reached : torch.Tensor of bool, shape (row_count, outcome_count)
    """

    def __init__(self, row_count: int, outcome_count: int, device: torch.device) -> None:
        shape = (row_count, PIECES, -(-outcome_count // PIECES))
        self.below = torch.full(shape, _LOWEST, device=device)
        self.is_reached = torch.empty(row_count, outcome_count, dtype=torch.bool, device=device)
        self._free: list[torch.Tensor] = []

    def take(self, row_count: int) -> torch.Tensor:
        """Return an array of any content, shape (row_count, pieces, width)."""
        whole = self._free.pop() if self._free else torch.empty_like(self.below)
        return whole[:row_count]

    def give_back(self, array: torch.Tensor) -> None:
        """Let later calls of `take`, for as many rows or fewer, have *array*."""
        self._free.append(array)


@dataclass(frozen=True)
class _Reduced:
    """Some rows without what is as large as the vocabulary.

    Attributes
    ----------
    top, own : torch.Tensor of float32, shape (rows,)
        The largest logit and that of the outcome.
    partition, weighted : torch.Tensor of float64, shape (rows,)
        Sums of masses, exp of logits below the top, and of masses times these.
    power_sums : torch.Tensor of float64, shape (rows, 17)
        Sums of the powers of u in `SKETCH_POWERS`.
    least_below : torch.Tensor of float64, shape (rows,)
        No logit further below the top is in the nucleus.
    row_of, place_of : torch.Tensor of int64, shape (n,)
        Outcomes that rank, mass ahead or nucleus may depend on, row by row.
    below : torch.Tensor of float64, shape (n,)
        Their logits, measured from the top.
    """

    top: torch.Tensor
    own: torch.Tensor
    partition: torch.Tensor
    weighted: torch.Tensor
    power_sums: torch.Tensor
    least_below: torch.Tensor
    row_of: torch.Tensor
    place_of: torch.Tensor
    below: torch.Tensor


def _joined(parts: list[_Reduced]) -> _Reduced:
    """Return *parts*, at least one, one after the other."""
    moved, before = [], 0
    for part in parts:
        moved.append(replace(part, row_of=part.row_of + before))
        before += len(part.top)
    return _Reduced(
        *(torch.cat([getattr(part, each.name) for part in moved]) for each in fields(_Reduced))
    )


def _reduced(rows: torch.Tensor, outcome: torch.Tensor, work: _Workspace) -> _Reduced:
    """Make every pass over the vocabulary of a few rows."""
    below = work.below[: len(rows)]
    logits = below.view(len(rows), -1)[:, : rows.shape[1]]
    logits.copy_(rows)
    top, own = logits.amax(dim=1), logits.gather(1, outcome[:, None])[:, 0]
    # Measured from the top, so that nothing overflows; exact to float32 of the difference. A mass
    # of exactly 0 stays one, and 0 times its logarithm too.
    logits.sub_(top[:, None]).clamp_min_(_LOWEST)
    masses = torch.exp(below, out=work.take(len(rows)))
    partition = _summed(masses)
    weighted = torch.mul(masses, below, out=work.take(len(rows)))
    reached = _reached(logits, masses, partition, own.double() - top.double(), work)
    found = _Reduced(top, own, partition, _summed(weighted), _power_sums(below, work), *reached)
    work.give_back(masses)
    work.give_back(weighted)
    return found


def _reached(
    below: torch.Tensor,
    masses: torch.Tensor,
    partition: torch.Tensor,
    own_below: torch.Tensor,
    work: _Workspace,
) -> tuple[torch.Tensor, ...]:
    """Find what is at least as likely as the outcome, or may be in the nucleus, in one pass.

    A sample of the vocabulary says below which mass about half of what a nucleus leaves out lies;
    that spares most of the pass. It is a guess: where what lies above holds too little, the bound
    that always holds is taken.

    Returns
    -------
    tuple of torch.Tensor
        The last four attributes of `_Reduced`.
    """
    row_count, outcome_count = below.shape
    outcomes = masses.view(row_count, -1)[:, :outcome_count]
    sample = outcomes[:, ::_SAMPLE_STEP].double().sort(dim=1).values
    shares = sample.cumsum(dim=1) * _SAMPLE_STEP / partition[:, None]
    counts = (shares <= (1.0 - NUCLEUS_MASS) / 2.0).sum(dim=1)
    guess = sample.gather(1, (counts - 1).clamp_min(0)[:, None])[:, 0].log()
    row_of, place_of, found = _above(torch.minimum(own_below, guess), below, work)
    likely = found.exp().where(found >= guess[row_of], 0.0)
    kept = _segment_sums(likely[:, None], row_of, row_count)[:, 0] / partition
    if bool((kept >= NUCLEUS_MASS).all()):
        return guess, row_of, place_of, found
    least = (_LEAST_SHARE / outcome_count * partition).log()
    return least, *_above(torch.minimum(own_below, least), below, work)


def _above(
    reach: torch.Tensor, below: torch.Tensor, work: _Workspace
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return row, place and value of all that is not below *reach*, row by row."""
    row_count, outcome_count = below.shape
    is_reached = torch.ge(below, reach.float()[:, None], out=work.is_reached[:row_count]).view(-1)
    if is_reached.device.type == "cpu":  # numpy looks through a mask several times faster
        flat = torch.from_numpy(np.flatnonzero(is_reached.numpy()))
    else:
        flat = is_reached.nonzero()[:, 0]
    row_of, place_of = flat // outcome_count, flat % outcome_count
    return row_of, place_of, below[row_of, place_of].double()


def _summed(values: torch.Tensor) -> torch.Tensor:
    """Return the sum of every row in float64, of float32 sums of its pieces."""
    return values.sum(dim=-1).double().sum(dim=-1)


def _power_sums(below: torch.Tensor, work: _Workspace) -> torch.Tensor:
    """Return the sums over the vocabulary of the powers in `SKETCH_POWERS`, shape (rows, 17)."""
    powers = {1: torch.div(below, 64.0, out=work.take(len(below))).exp_()}
    for power in _SQUARES:
        half = powers[power // 2]
        powers[power] = torch.mul(half, half, out=work.take(len(below)))
    sums = [_summed(powers[32])]
    for (power, one, other), needed in zip(_PRODUCTS, _NEEDED_AFTER, strict=True):
        powers[power] = torch.mul(powers[one], powers[other], out=work.take(len(below)))
        sums.append(_summed(powers[power]))
        for spent in powers.keys() - needed:
            work.give_back(powers.pop(spent))
    return torch.stack(sums, dim=1)


def _segment_sums(values: torch.Tensor, row_of: torch.Tensor, row_count: int) -> torch.Tensor:
    """Return the sums of *values*, shape (n, columns), over the entries of each row."""
    sums = torch.zeros(row_count, values.shape[1], dtype=torch.float64, device=values.device)
    return sums.index_add_(0, row_of, values)


def _nucleus(
    candidates: torch.Tensor, row_of: torch.Tensor, row_count: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return kept mass and size of every row's nucleus from the probabilities that can be in it."""
    # One sort for both: no probability reaches from its row to the next, two apart.
    by_row = (2 * row_of - candidates).argsort()
    row_of, candidates = row_of[by_row], candidates[by_row]
    before = candidates.cumsum(0) - candidates
    counts = torch.bincount(row_of, minlength=row_count)
    starts = counts.cumsum(0) - counts
    occupied = counts > 0
    offsets = torch.zeros(row_count, dtype=torch.float64, device=candidates.device)
    offsets[occupied] = before[starts[occupied]]
    is_kept = before - offsets[row_of] < NUCLEUS_MASS - MASS_TOLERANCE
    kept = _segment_sums(torch.where(is_kept, candidates, 0.0)[:, None], row_of, row_count)[:, 0]
    kept = torch.where(occupied, kept.clamp_max(1.0), torch.nan)
    return kept, torch.bincount(row_of[is_kept], minlength=row_count)


def _temperature_sketches(
    power_sums: torch.Tensor, log_partition: torch.Tensor, is_sound: torch.Tensor
) -> NDArray[np.float32]:
    betas = torch.tensor(SKETCH_POWERS, dtype=torch.float64, device=power_sums.device) / 64.0
    values = _array(power_sums.log() - betas * log_partition[:, None])
    sketches = np.full((len(values), SKETCH_LENGTH), np.nan, dtype=np.float32)
    sound = _array(is_sound)
    # Not one matrix product: its last bits depend on how many rows there are.
    sketches[sound] = np.stack(
        [(values[sound] * weights).sum(axis=1) for weights in _SUMS_TO_SKETCH], axis=1
    )
    return sketches


def _ahead_sketches(
    ahead: torch.Tensor, row_of: torch.Tensor, log_partition: torch.Tensor, is_sound: torch.Tensor
) -> NDArray[np.float32]:
    betas = torch.as_tensor(NODE_INVERSE_TEMPERATURES.copy(), device=ahead.device)
    sums = _segment_sums((ahead[:, None] * betas).exp_(), row_of, len(log_partition))
    values = _array(sums.log() - betas * log_partition[:, None])
    sketches = np.full((len(values), len(betas)), np.nan, dtype=np.float32)
    some = _array(is_sound) & np.isfinite(values).all(axis=1)
    sketches[some] = sketch_of_node_values(values[some])
    return sketches


def _array(values: torch.Tensor) -> NDArray[Any]:
    found: NDArray[Any] = values.cpu().numpy()
    return found
