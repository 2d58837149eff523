"""The log-linear bigram under an L2 penalty: a language model that can scale its own logits."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from flows.language_models.errors import PenaltyError
from flows.language_models.forecasts import Forecasts
from flows.language_models.vocabulary import EncodedText, Vocabulary

PENALTIES = (1e-2, 3e-3, 1e-3, 3e-4, 1e-4, 3e-5, 1e-5, 3e-6, 1e-6, 1e-7)
"""The printed seven and three between them, largest first: each fit starts from the one before."""

GRADIENT_TOLERANCE = 1e-11
"""Euclidean norm of a row's gradient at which it is fitted.

The identity of Theorem 3 is missed by at most |∇J|·|W|; with 513 rows and |W| below 1e4 that leaves
six decimals with room, and rounding leaves some 1e-16.
"""

MAXIMUM_ITERATIONS = 200
"""A warm start needs 5 to 15 at each penalty, a cold one at 1e-7 some 40."""

_HALVINGS = 40


@dataclass(frozen=True)
class LoglinearBigram:
    r"""Softmax of a row of weights chosen by the previous token [1]_.

    W minimises :math:`\frac1N \sum -\log \mathrm{softmax}(W_u)_w + \tfrac\lambda2 \lVert W\rVert^2`
    over the training text.

    Attributes
    ----------
    vocabulary : Vocabulary
    penalty : float
        λ > 0.
    weights : ndarray of float64, shape (V + 1, V)
        W, a row for every previous token, the begin mark last; it is no outcome. Rows of tokens
        that nothing followed are 0: a uniform forecast.
    gradient_norm : float
        |∇J| at these weights, over all rows.
    iteration_count : int
        Newton steps taken, each over all rows that are not fitted yet.

    References
    ----------
    .. [1] *Calibration of Language Models*, "Why τ = 1 at all".
    """

    vocabulary: Vocabulary
    penalty: float
    weights: NDArray[np.float64]
    gradient_norm: float
    iteration_count: int

    @property
    def derivative_by_theorem(self) -> float:
        """−λ‖W‖²: what dL/dβ at β = 1 on the training text must be (Theorem 3), nats per β."""
        return -self.penalty * math.fsum((self.weights**2).ravel().tolist())

    def forecast(self, text: EncodedText) -> Forecasts:
        """Forecast every token of *text* from the one before it."""
        previous = text.previous(self.vocabulary.begin_id)
        used, row_of_token = np.unique(previous, return_inverse=True)
        weights = self.weights[used]
        rows = weights - _log_partition(weights)[:, None]
        return Forecasts(rows, row_of_token.astype(np.int64), text)


def fit_loglinear_bigrams(
    vocabulary: Vocabulary, training: EncodedText, penalties: Sequence[float] = PENALTIES
) -> list[LoglinearBigram]:
    """Fit one bigram per penalty by Newton on all rows at once.

    The rows of W are independent, and the Hessian of each is diagonal minus rank one, so a Newton
    step costs as much as a gradient (Sherman and Morrison, 1950).

    Parameters
    ----------
    vocabulary : Vocabulary
    training : EncodedText
    penalties : sequence of float
        λ > 0, in the order to fit: each starts from the one before.

    Raises
    ------
    PenaltyError
        A penalty is not above 0: without one no finite W is optimal, since the logits of pairs that
        never came run off to −∞. Or Newton did not arrive.
    """
    problem = _Problem.of(vocabulary, training)
    weights = np.zeros_like(problem.share)
    fitted = []
    for penalty in penalties:
        if not 0.0 < penalty < math.inf:
            raise PenaltyError(
                f"a penalty must be above 0 and finite, got {penalty}: without one the weights of "
                "pairs that never came have no finite optimum."
            )
        weights, iterations = _newton(problem, weights, penalty)
        norm = float(np.linalg.norm(problem.gradient(weights, penalty)))
        full = np.zeros((vocabulary.outcome_count + 1, vocabulary.outcome_count))
        full[problem.previous] = weights
        fitted.append(LoglinearBigram(vocabulary, penalty, full, norm, iterations))
    return fitted


@dataclass(frozen=True)
class _Problem:
    """The training text as the rows that have data.

    Attributes
    ----------
    previous : ndarray of int64, shape (rows,)
    row_weight : ndarray of float64, shape (rows,)
        n_u/N: share of the tokens that come after u.
    share : ndarray of float64, shape (rows, V)
        What came after u, as shares of n_u.
    """

    previous: NDArray[np.int64]
    row_weight: NDArray[np.float64]
    share: NDArray[np.float64]

    @classmethod
    def of(cls, vocabulary: Vocabulary, training: EncodedText) -> _Problem:
        size = vocabulary.outcome_count
        codes = training.previous(vocabulary.begin_id) * size + training.token_id
        counts = np.bincount(codes, minlength=(size + 1) * size).reshape(size + 1, size)
        totals = counts.sum(axis=1)
        previous = np.flatnonzero(totals)
        return cls(
            previous,
            totals[previous] / len(training),
            counts[previous] / totals[previous, None],
        )

    def rows(self, places: NDArray[np.int64]) -> _Problem:
        """Only the rows at *places*."""
        return _Problem(self.previous[places], self.row_weight[places], self.share[places])

    def objective(self, weights: NDArray[np.float64], penalty: float) -> NDArray[np.float64]:
        """Each row's part of J, shape (rows,)."""
        loss = _log_partition(weights) - (self.share * weights).sum(axis=1)
        objective: NDArray[np.float64] = self.row_weight * loss
        objective += 0.5 * penalty * (weights**2).sum(axis=1)
        return objective

    def gradient(self, weights: NDArray[np.float64], penalty: float) -> NDArray[np.float64]:
        """∇J, shape (rows, V)."""
        gradient: NDArray[np.float64] = self.row_weight[:, None] * (_softmax(weights) - self.share)
        gradient += penalty * weights
        return gradient


def _newton(
    problem: _Problem, start: NDArray[np.float64], penalty: float
) -> tuple[NDArray[np.float64], int]:
    """Return the optimal weights and the number of steps."""
    weights = start.copy()
    for iteration in range(MAXIMUM_ITERATIONS):
        norms = np.linalg.norm(problem.gradient(weights, penalty), axis=1)
        open_rows = np.flatnonzero(norms > GRADIENT_TOLERANCE)
        if not len(open_rows):
            return weights, iteration
        weights[open_rows] = _step(problem.rows(open_rows), weights[open_rows], penalty)
    raise PenaltyError(
        f"every row must be fitted to a gradient below {GRADIENT_TOLERANCE:g}, got "
        f"{float(norms.max()):g} at penalty {penalty:g} after {MAXIMUM_ITERATIONS} steps; fit "
        "larger penalties first, so that it starts from them."
    )


def _step(problem: _Problem, weights: NDArray[np.float64], penalty: float) -> NDArray[np.float64]:
    """Return the weights after one Newton step, each row's halved until its objective falls."""
    gradient = problem.gradient(weights, penalty)
    direction = _newton_direction(problem, weights, gradient, penalty)
    slope = (gradient * direction).sum(axis=1)
    before = problem.objective(weights, penalty)
    length = np.ones(len(weights))
    moved = weights - direction
    # Armijo's rule with 1e-4. Where the fall is below rounding the full step is safe: Newton is
    # at its quadratic end there.
    is_settled = slope <= 1e-12 * np.abs(before)
    for _ in range(_HALVINGS):
        after = problem.objective(moved, penalty)
        too_far = ~is_settled & (after > before - 1e-4 * length * slope)
        if not too_far.any():
            break
        length[too_far] *= 0.5
        moved[too_far] = weights[too_far] - length[too_far, None] * direction[too_far]
    return moved


def _newton_direction(
    problem: _Problem,
    weights: NDArray[np.float64],
    gradient: NDArray[np.float64],
    penalty: float,
) -> NDArray[np.float64]:
    """Return H⁻¹∇J of every row, H = diag(r·p + λ) − r·p pᵀ with r the row's weight.

    Sherman–Morrison's denominator 1 − r Σ p²/(r p + λ) is written Σ p λ/(r p + λ), which holds
    since Σ p = 1 and does not cancel where λ is small.
    """
    probabilities = _softmax(weights)
    scale = problem.row_weight[:, None]
    diagonal = scale * probabilities + penalty
    plain = gradient / diagonal
    pull = probabilities / diagonal
    denominator = penalty * pull.sum(axis=1)
    inner = problem.row_weight * (probabilities * plain).sum(axis=1) / denominator
    direction: NDArray[np.float64] = plain + inner[:, None] * pull
    return direction


def _log_partition(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    top = weights.max(axis=1)
    total: NDArray[np.float64] = top + np.log(np.exp(weights - top[:, None]).sum(axis=1))
    return total


def _softmax(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(weights - weights.max(axis=1, keepdims=True))
    shares: NDArray[np.float64] = powers / powers.sum(axis=1, keepdims=True)
    return shares
