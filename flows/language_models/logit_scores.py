"""Logits reduced to what a scored token stores, a few rows at a time and in vocabulary pieces.

One exponential per logit serves the whole temperature sketch: with u = exp((z − max)/64), twelve
products reach seven powers of it, and the 7 × 7 Gram matrix of those holds Z(β) at the 28 values
β = (m + n)/64 in [0.5, 2]. A fixed least-squares matrix turns them into Chebyshev coefficients.
A second exponential gives Z(1), entropy and nucleus, so that no probability is a product of powers.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from flows.language_models.scored_tokens import NUCLEUS_MASS
from udfs.prediction_sets import MASS_TOLERANCE
from udfs.temperature_sketch import NODE_INVERSE_TEMPERATURES, sketch_of_node_values, value_basis

POWERS = (16, 17, 21, 32, 46, 60, 64)
"""Powers of u whose pairs spread 28 values of β over the range: Lebesgue constant 4.0."""

_PAIRS = [(i, j) for i in range(len(POWERS)) for j in range(i, len(POWERS))]
_PAIR_BETAS = np.array([(POWERS[i] + POWERS[j]) / 64 for i, j in _PAIRS])
_VALUES_TO_SKETCH: NDArray[np.float64] = np.linalg.pinv(
    np.stack([value_basis(math.log2(beta)) for beta in _PAIR_BETAS])
)
"""Least squares from log Z at the 28 β to the 16 coefficients, shape (16, 28)."""

PIECES = 48
"""Vocabulary pieces whose float32 sums are added in float64: one long sum is off by 2e-5."""

_CPU_ROWS, _GPU_ROWS = 4, 256
"""Rows reduced at once: seven powers of four rows stay in a processor's cache."""

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
    step = _CPU_ROWS if logits.device.type == "cpu" else _GPU_ROWS
    parts = [
        _scores(logits[start : start + step].float(), outcome[start : start + step])
        for start in range(0, len(logits), step)
    ]
    return joined_scores(parts) if parts else _scores(logits.float(), outcome)


def _scores(rows: torch.Tensor, outcome: torch.Tensor) -> LogitScores:
    top, top_token_id = rows.max(dim=1)
    own = rows.gather(1, outcome[:, None])[:, 0]
    # Measured from the top, so that nothing overflows; exact to float32 of the difference. A mass
    # of exactly 0 stays one, and 0 times its logarithm too.
    below = (rows - top[:, None]).clamp_min_(_LOWEST)
    masses = below.exp()
    partition = _summed(masses)
    log_partition = partition.log()
    weighted = _summed(masses * below)
    own_below = own.double() - top.double()
    found = _reached(below, masses, partition, own_below)
    # Compared as given: two logits can be one number when measured from the top.
    given, own_given = rows[found.row_of, found.place_of], own[found.row_of]
    is_ahead = (given > own_given) | (
        (given == own_given) & (found.place_of < outcome[found.row_of])
    )
    ahead, ahead_row_of = found.below[is_ahead], found.row_of[is_ahead]
    kept_mass, size = _nucleus(found.candidates, found.candidate_row_of, len(rows))
    is_sound = torch.isfinite(log_partition) & torch.isfinite(own)
    return LogitScores(
        _array(top_token_id),
        _array((-log_partition).exp()),
        _array(own_below - log_partition),
        _array((log_partition - weighted / partition).clamp_min(0.0)),
        _array(torch.bincount(ahead_row_of, minlength=len(rows))),
        _array(_segment_sums(ahead.exp()[:, None], ahead_row_of, len(rows))[:, 0] / partition),
        _array(kept_mass),
        _array(size),
        _temperature_sketches(below, log_partition, is_sound),
        _ahead_sketches(ahead, ahead_row_of, log_partition, is_sound),
    )


@dataclass(frozen=True)
class _Reached:
    """The outcomes of a few rows that rank, mass ahead or nucleus may depend on.

    One entry per outcome: its row, its place and its logit below the top, in float64; and row and
    probability of those among them that can be in the nucleus.
    """

    row_of: torch.Tensor
    place_of: torch.Tensor
    below: torch.Tensor
    candidate_row_of: torch.Tensor
    candidates: torch.Tensor


def _reached(
    below: torch.Tensor, masses: torch.Tensor, partition: torch.Tensor, own_below: torch.Tensor
) -> _Reached:
    """Find what is at least as likely as the outcome, or may be in the nucleus, in one pass.

    A sample of the vocabulary says below which mass about half of what a nucleus leaves out lies;
    that spares most of the pass. It is a guess: where what lies above holds too little, the bound
    that always holds is taken.
    """
    sample = masses[:, ::_SAMPLE_STEP].double().sort(dim=1).values
    shares = sample.cumsum(dim=1) * _SAMPLE_STEP / partition[:, None]
    counts = (shares <= (1.0 - NUCLEUS_MASS) / 2.0).sum(dim=1)
    guess = sample.gather(1, (counts - 1).clamp_min(0)[:, None])[:, 0]
    found = _above(guess.log(), below, partition, own_below)
    kept = _segment_sums(found.candidates[:, None], found.candidate_row_of, len(below))[:, 0]
    if bool((kept >= NUCLEUS_MASS).all()):
        return found
    least = _LEAST_SHARE / below.shape[1] * partition
    return _above(least.log(), below, partition, own_below)


def _above(
    least_below: torch.Tensor,
    below: torch.Tensor,
    partition: torch.Tensor,
    own_below: torch.Tensor,
) -> _Reached:
    reach = torch.minimum(own_below, least_below).float()
    row_of, place_of = (below >= reach[:, None]).nonzero(as_tuple=True)
    reached = below[row_of, place_of].double()
    is_large = reached >= least_below[row_of]
    candidate_row_of = row_of[is_large]
    candidates = reached[is_large].exp() / partition[candidate_row_of]
    return _Reached(row_of, place_of, reached, candidate_row_of, candidates)


def _summed(values: torch.Tensor) -> torch.Tensor:
    """Return the sum of every row in float64, of float32 sums of `PIECES` pieces."""
    return _in_pieces(values).sum(dim=2).double().sum(dim=1)


def _in_pieces(values: torch.Tensor) -> torch.Tensor:
    """Return rows cut into `PIECES`, shape (rows, pieces, width), zero beyond the vocabulary."""
    width = -(-values.shape[1] // PIECES)
    if width * PIECES != values.shape[1]:
        values = torch.nn.functional.pad(values, (0, width * PIECES - values.shape[1]))
    return values.view(len(values), PIECES, width)


def _segment_sums(values: torch.Tensor, row_of: torch.Tensor, row_count: int) -> torch.Tensor:
    """Return the sums of *values*, shape (n, columns), over the entries of each row."""
    sums = torch.zeros(row_count, values.shape[1], dtype=torch.float64, device=values.device)
    return sums.index_add_(0, row_of, values)


def _nucleus(
    candidates: torch.Tensor, row_of: torch.Tensor, row_count: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return kept mass and size of every row's nucleus from the probabilities that can be in it."""
    falling = candidates.argsort(descending=True)
    by_row = falling[row_of[falling].argsort(stable=True)]
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
    below: torch.Tensor, log_partition: torch.Tensor, is_sound: torch.Tensor
) -> NDArray[np.float32]:
    powers = _powers((below / 64.0).exp_())
    gram = torch.matmul(powers, powers.transpose(2, 3)).double().sum(dim=1)
    rows, columns = zip(*_PAIRS, strict=True)
    betas = torch.as_tensor(_PAIR_BETAS, device=below.device)
    values = gram[:, rows, columns].log() - betas * log_partition[:, None]
    sketches = np.full((len(below), _VALUES_TO_SKETCH.shape[0]), np.nan, dtype=np.float32)
    sound = _array(is_sound)
    found = _array(values)[sound]
    # Not one matrix product: its last bits depend on how many rows there are.
    sketches[sound] = np.stack(
        [(found * weights).sum(axis=1) for weights in _VALUES_TO_SKETCH], axis=1
    )
    return sketches


def _powers(base: torch.Tensor) -> torch.Tensor:
    """Return the seven powers of u, shape (rows, pieces, 7, width), zero beyond the vocabulary."""
    u1 = _in_pieces(base)
    u2 = u1 * u1
    u4 = u2 * u2
    u8 = u4 * u4
    row_count, _, width = u1.shape
    found = torch.empty(row_count, PIECES, len(POWERS), width, device=base.device)
    u16 = torch.mul(u8, u8, out=found[:, :, 0])
    u17 = torch.mul(u16, u1, out=found[:, :, 1])
    u21 = torch.mul(u17, u4, out=found[:, :, 2])
    u32 = torch.mul(u16, u16, out=found[:, :, 3])
    u42 = u21 * u21
    torch.mul(u42, u4, out=found[:, :, 4])
    torch.mul(u42 * u17, u1, out=found[:, :, 5])
    torch.mul(u32, u32, out=found[:, :, 6])
    return found


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
