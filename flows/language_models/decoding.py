"""Decoding strategies as exact sets of tokens: who may be drawn, and with what probability.

A strategy turns a language model's own distribution into the one that is drawn from: temperature
first, then top-k, nucleus and typical, each on what the one before it kept, renormalised. Whatever
a strategy does not name is off; there is no repetition penalty. A set is what its definition says
and no more: where equal values lie across its edge, the lower token ids belong to it.

The library's own nucleus and typical warpers sort the whole vocabulary; here only as many of the
leading tokens are sorted as the mass needs, which gives the same set.
"""

from __future__ import annotations

import torch

from flows.language_models.strategies import DecodingStrategy

FIRST_SORTED_TOKENS = 1024
"""Tokens sorted at first. They hold a nucleus of 0.9 at most steps of a story; where they do not,
four times as many are tried, up to all."""

GROWTH = 4

MASS_ROUNDING = 1e-6
"""What the float32 log-probabilities of a set may sum short of its mass by rounding alone: eight
equal tokens reach a mass of 0.5 with four."""


def sampling_log_probabilities(logits: torch.Tensor, strategy: DecodingStrategy) -> torch.Tensor:
    """Return the log-probabilities that *strategy* draws from.

    Parameters
    ----------
    logits : torch.Tensor of float, shape (rows, vocabulary)
        As the language model gives them, in whatever precision.
    strategy : DecodingStrategy
        What to keep.

    Returns
    -------
    torch.Tensor of float32, shape (rows, vocabulary)
        Natural logarithms; −inf for every token outside the set. Each row sums to 1 in probability.
    """
    if strategy.is_greedy:
        chosen = torch.full_like(logits, -torch.inf, dtype=torch.float32)
        return chosen.scatter_(1, logits.argmax(1, keepdim=True), 0.0)
    kept = torch.log_softmax(logits.float() / strategy.sampling_temperature, dim=1)
    if strategy.top_k is not None:
        kept = _top_k(kept, strategy.top_k)
    if strategy.nucleus_mass is not None:
        kept = _reaching(kept, kept, strategy.nucleus_mass)
    if strategy.typical_mass is not None:
        surprise_distance = (kept + _entropy(kept)).abs_()
        kept = _reaching(kept, surprise_distance.neg_(), strategy.typical_mass)
    return kept


def _entropy(log_probabilities: torch.Tensor) -> torch.Tensor:
    """Return the entropy of each row in nats, shape (rows, 1); 0·log 0 is 0."""
    terms: torch.Tensor = torch.special.entr(log_probabilities.exp())
    return terms.sum(1, keepdim=True)


def _top_k(log_probabilities: torch.Tensor, count: int) -> torch.Tensor:
    count = min(count, log_probabilities.shape[1])
    cut = log_probabilities.topk(count, dim=1).values[:, -1:]
    counts = torch.full_like(cut, count, dtype=torch.int64)
    return _keep(log_probabilities, log_probabilities, cut, counts)


def _reaching(log_probabilities: torch.Tensor, merit: torch.Tensor, mass: float) -> torch.Tensor:
    """Keep the fewest tokens of largest *merit* whose probabilities sum to *mass*."""
    wanted = mass - MASS_ROUNDING
    size = min(FIRST_SORTED_TOKENS, merit.shape[1])
    while True:
        leading = merit.topk(size, dim=1)
        cumulative = log_probabilities.gather(1, leading.indices).double().exp_().cumsum(1)
        if size == merit.shape[1] or bool((cumulative[:, -1] >= wanted).all()):
            break
        size = min(GROWTH * size, merit.shape[1])
    counts = (cumulative < wanted).sum(1, keepdim=True).add_(1).clamp_(max=size)
    return _keep(log_probabilities, merit, leading.values.gather(1, counts - 1), counts)


def _keep(
    log_probabilities: torch.Tensor, merit: torch.Tensor, cut: torch.Tensor, counts: torch.Tensor
) -> torch.Tensor:
    """Keep the *counts* tokens of largest *merit*, down to *cut*; lower ids first among equals."""
    is_kept = merit >= cut
    if bool((is_kept.sum(1, keepdim=True) > counts).any()):
        is_ahead, is_tied = merit > cut, merit == cut
        room = counts - is_ahead.sum(1, keepdim=True)
        is_kept = is_ahead | (is_tied & (is_tied.cumsum(1) <= room))
    kept = log_probabilities.masked_fill(~is_kept, -torch.inf)
    return kept.sub_(kept.logsumexp(1, keepdim=True))
