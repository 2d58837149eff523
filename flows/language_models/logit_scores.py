"""Logits reduced to what a scored token stores, a few rows at a time and in vocabulary pieces.

One exponential per logit gives Z(1), entropy and nucleus; the temperature sketch takes a second
(`flows.language_models.power_sums`), so that no probability is a product of powers.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from flows.language_models.power_sums import (
    LOWEST,
    Workspace,
    power_sums,
    sketches_of_sums,
    summed,
)
from flows.language_models.scored_tokens import NUCLEUS_MASS
from udfs.prediction_sets import MASS_TOLERANCE
from udfs.temperature_sketch import (
    NODE_INVERSE_TEMPERATURES,
    SKETCH_LENGTH,
    sketch_of_node_values,
)

_CPU_ROWS, _GPU_ROWS = 8, 128
"""Rows reduced at once. Thirteen arrays of their size are held: 20 MB on a processor, where 2 to 32
rows take the same time, and 330 MB on a GPU, which is busy only with many."""

_GROUP_OUTCOMES = 1_000_000
"""Outcomes of the rows that are ranked at once on a processor. Of rows that are nearly flat all are
likely, and take some 100 bytes each; of others a hundredth is."""

_SKETCHED_OUTCOMES = 1 << 15
"""Outcomes whose 16 powers are held at once: 4 MB."""

_LEAST_SHARE = (1.0 - NUCLEUS_MASS) / 2.0
"""Outcomes below this share of 1/V hold less than half of what a nucleus leaves out."""

_SAMPLE_STEP = 64
"""Every 64th outcome is sampled: 768 of 49,152 rank some 0.95 of the mass as well as all do."""


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
    is_on_cpu = logits.device.type == "cpu"
    step = group = _CPU_ROWS if is_on_cpu else _GPU_ROWS
    if is_on_cpu:
        group *= max(1, _GROUP_OUTCOMES // (step * max(1, logits.shape[1])))
    work = Workspace(min(step, len(logits)), logits.shape[1], logits.device)
    parts = [
        _scores(logits[start : start + group], outcome[start : start + group], step, work)
        for start in range(0, len(logits), group)
    ]
    return joined_scores(parts) if parts else _no_scores()


def _no_scores() -> LogitScores:
    numbers, places = np.empty(0), np.empty(0, np.int64)
    sketches = np.empty((0, SKETCH_LENGTH), np.float32)
    return LogitScores(
        top_token_id=places,
        confidence=numbers,
        log_probability_nats=numbers,
        entropy_nats=numbers,
        rank=places,
        mass_ahead=numbers,
        kept_mass=numbers,
        prediction_set_size=places,
        temperature_sketch=sketches,
        mass_ahead_sketch=sketches,
    )


def _scores(rows: torch.Tensor, outcome: torch.Tensor, step: int, work: Workspace) -> LogitScores:
    parts = [
        _reduced(rows[start : start + step], outcome[start : start + step], work)
        for start in range(0, len(rows), step)
    ]
    sums, found = _joined_sums(parts), _joined_reached(parts)
    row_of, partition, log_partition = found.row_of, sums.partition, sums.partition.log()
    # Compared as given: two logits can be one number when measured from the top.
    given, own = rows[row_of, found.place_of].float(), sums.own[row_of]
    is_ahead = (given > own) | ((given == own) & (found.place_of < outcome[row_of]))
    ahead, ahead_row_of = found.below[is_ahead], row_of[is_ahead]
    is_top = given == sums.top[row_of]
    top_token_id = torch.zeros_like(outcome).scatter_reduce_(
        0, row_of[is_top], found.place_of[is_top], "amin", include_self=False
    )
    is_candidate = found.below >= found.least_below[row_of]
    candidate_row_of = row_of[is_candidate]
    candidates = found.below[is_candidate].exp() / partition[candidate_row_of]
    kept_mass, size = _nucleus(candidates, candidate_row_of, len(rows))
    is_sound = torch.isfinite(log_partition) & torch.isfinite(sums.own)
    return LogitScores(
        top_token_id=_array(top_token_id),
        confidence=_array((-log_partition).exp()),
        log_probability_nats=_array(sums.own.double() - sums.top.double() - log_partition),
        entropy_nats=_array((log_partition - sums.weighted / partition).clamp_min(0.0)),
        rank=_array(torch.bincount(ahead_row_of, minlength=len(rows))),
        mass_ahead=_array(
            _segment_sums(ahead.exp()[:, None], ahead_row_of, len(rows))[:, 0] / partition
        ),
        kept_mass=_array(kept_mass),
        prediction_set_size=_array(size),
        temperature_sketch=sketches_of_sums(
            _array(sums.powers), _array(log_partition), _array(is_sound)
        ),
        mass_ahead_sketch=_ahead_sketches(ahead, ahead_row_of, log_partition, is_sound),
    )


@dataclass(frozen=True)
class _Sums:
    """What is left of the vocabulary of some rows, one entry per row in every tensor.

    Attributes
    ----------
    top, own : torch.Tensor of float32, shape (rows,)
        The largest logit and that of the outcome.
    partition, weighted : torch.Tensor of float64, shape (rows,)
        Sums of masses, exp of logits below the top, and of masses times these.
    powers : torch.Tensor of float64, shape (rows, 17)
        Of `power_sums`.
    """

    top: torch.Tensor
    own: torch.Tensor
    partition: torch.Tensor
    weighted: torch.Tensor
    powers: torch.Tensor


@dataclass(frozen=True)
class _Reached:
    """The outcomes that rank, mass ahead or nucleus of some rows may depend on, row by row.

    Attributes
    ----------
    least_below : torch.Tensor of float64, shape (rows,)
        No logit further below the top is in the nucleus.
    row_of, place_of : torch.Tensor of int64, shape (n,)
        Row and place of every outcome.
    below : torch.Tensor of float64, shape (n,)
        Their logits, measured from the top.
    """

    least_below: torch.Tensor
    row_of: torch.Tensor
    place_of: torch.Tensor
    below: torch.Tensor


def _joined_sums(parts: list[tuple[_Sums, _Reached]]) -> _Sums:
    """Return the sums of *parts*, at least one, one after the other."""
    return _Sums(
        *(torch.cat([getattr(sums, each.name) for sums, _ in parts]) for each in fields(_Sums))
    )


def _joined_reached(parts: list[tuple[_Sums, _Reached]]) -> _Reached:
    """Return the outcomes of *parts*, at least one, their rows counted through."""
    moved, before = [], 0
    for sums, reached in parts:
        moved.append(replace(reached, row_of=reached.row_of + before))
        before += len(sums.top)
    return _Reached(
        *(torch.cat([getattr(part, each.name) for part in moved]) for each in fields(_Reached))
    )


def _reduced(rows: torch.Tensor, outcome: torch.Tensor, work: Workspace) -> tuple[_Sums, _Reached]:
    """Make every pass over the vocabulary of a few rows."""
    work = work.fitted(len(rows))
    logits = work.below.view(len(rows), -1)[:, : rows.shape[1]]
    logits.copy_(rows)
    top, own = logits.amax(dim=1), logits.gather(1, outcome[:, None])[:, 0]
    # Measured from the top, so that nothing overflows; exact to float32 of the difference. A mass
    # of exactly 0 stays one, and 0 times its logarithm too.
    logits.sub_(top[:, None]).clamp_min_(LOWEST)
    masses = torch.exp(work.below, out=work.take())
    partition = summed(masses)
    terms = torch.mul(masses, work.below, out=work.take())
    weighted = summed(terms)
    work.give_back(terms)
    reached = _reached(logits, masses, partition, own.double() - top.double(), work)
    work.give_back(masses)
    return _Sums(top, own, partition, weighted, power_sums(work)), reached


def _reached(
    below: torch.Tensor,
    masses: torch.Tensor,
    partition: torch.Tensor,
    own_below: torch.Tensor,
    work: Workspace,
) -> _Reached:
    """Find what is at least as likely as the outcome, or may be in the nucleus, in one pass.

    A sample of the vocabulary says below which mass about half of what a nucleus leaves out lies;
    that spares most of the pass. It is a guess: where what lies above holds too little, the bound
    that always holds is taken.
    """
    row_count, outcome_count = below.shape
    outcomes = masses.view(row_count, -1)[:, :outcome_count]
    sample = outcomes[:, ::_SAMPLE_STEP].double().sort(dim=1).values
    shares = sample.cumsum(dim=1) * _SAMPLE_STEP / partition[:, None]
    counts = (shares <= (1.0 - NUCLEUS_MASS) / 2.0).sum(dim=1)
    guess = sample.gather(1, (counts - 1).clamp_min(0)[:, None])[:, 0].log()
    found = _above(guess, own_below, below, work)
    likely = found.below.exp().where(found.below >= guess[found.row_of], 0.0)
    kept = _segment_sums(likely[:, None], found.row_of, row_count)[:, 0] / partition
    if bool((kept >= NUCLEUS_MASS).all()):
        return found
    least = (_LEAST_SHARE / outcome_count * partition).log()
    return _above(least, own_below, below, work)


def _above(
    least_below: torch.Tensor, own_below: torch.Tensor, below: torch.Tensor, work: Workspace
) -> _Reached:
    """Return all that is not below both *least_below* and the outcome."""
    reach = torch.minimum(own_below, least_below).float()
    is_reached = torch.ge(below, reach[:, None], out=work.is_reached).view(-1)
    if is_reached.device.type == "cpu":  # numpy looks through a mask several times faster
        flat = torch.from_numpy(np.flatnonzero(is_reached.numpy()))
    else:
        flat = is_reached.nonzero()[:, 0]
    outcome_count = below.shape[1]
    row_of, place_of = flat // outcome_count, flat % outcome_count
    return _Reached(least_below, row_of, place_of, below[row_of, place_of].double())


def _segment_sums(values: torch.Tensor, row_of: torch.Tensor, row_count: int) -> torch.Tensor:
    """Return the sums of *values*, shape (n, columns), over the entries of each row."""
    sums = torch.zeros(row_count, values.shape[1], dtype=torch.float64, device=values.device)
    return sums.index_add_(0, row_of, values)


def _nucleus(
    candidates: torch.Tensor, row_of: torch.Tensor, row_count: int
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return kept mass and size of every row's nucleus from the probabilities that can be in it."""
    # One sort for both: no probability reaches from its row to the next, two apart. The difference
    # holds 3e-14 of a probability; nearer ones are in any order, which no sum of them sees.
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


def _ahead_sketches(
    ahead: torch.Tensor, row_of: torch.Tensor, log_partition: torch.Tensor, is_sound: torch.Tensor
) -> NDArray[np.float32]:
    betas = torch.as_tensor(NODE_INVERSE_TEMPERATURES.copy(), device=ahead.device)
    sums = torch.zeros(len(log_partition), len(betas), dtype=torch.float64, device=ahead.device)
    for start in range(0, len(ahead), _SKETCHED_OUTCOMES):
        part = slice(start, start + _SKETCHED_OUTCOMES)
        sums.index_add_(0, row_of[part], (ahead[part, None] * betas).exp_())
    values = _array(sums.log() - betas * log_partition[:, None])
    sketches = np.full((len(values), len(betas)), np.nan, dtype=np.float32)
    some = _array(is_sound) & np.isfinite(values).all(axis=1)
    sketches[some] = sketch_of_node_values(values[some])
    return sketches


def _array(values: torch.Tensor) -> NDArray[Any]:
    found: NDArray[Any] = values.cpu().numpy()
    return found
