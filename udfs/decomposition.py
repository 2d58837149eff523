"""The score of a forecaster in three parts, exactly, on finite worlds."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from udfs.finite_worlds import FiniteWorld, FiniteWorldError, recalibration


@dataclass(frozen=True)
class ScoreDecomposition:
    """A score = reliability + refinement gap + irreducible part, in the units of the score.

    Attributes
    ----------
    score : float
        Expected score of the forecast, smaller is better.
    reliability : float
        What a map of the forecast alone could win back at best; 0 for a calibrated one.
    refinement_gap : float
        What is lost because different contexts receive one forecast.
    irreducible : float
        What no forecaster that sees the same contexts can avoid.
    """

    score: float
    reliability: float
    refinement_gap: float
    irreducible: float


def decompose_brier(world: FiniteWorld) -> ScoreDecomposition:
    r"""Split the multi-class Brier score E‖F − e_Y‖², from 0 to 2 [1]_.

    .. math:: E\|F - e_Y\|^2 = E\|F - C\|^2 + E\|C - P\|^2 + E(1 - \|P\|^2)

    All outcomes are summed: for two outcomes this is twice the binary Brier score.

    References
    ----------
    .. [1] *Calibration of Language Models*, theorem 1; Bröcker, Reliability, sufficiency, and the
       decomposition of proper scores, 2009.

    Examples
    --------
    >>> from udfs.finite_worlds import finite_world
    >>> decompose_brier(finite_world([1.0], [[0.5, 0.5]], [[0.75, 0.25]]))
    ScoreDecomposition(score=0.625, reliability=0.125, refinement_gap=0.0, irreducible=0.5)
    """
    forecast, truth = world.forecast, world.truth
    recalibrated = recalibration(world)
    # E‖F − e_Y‖² given the context is ‖F‖² − 2 F·P + 1, from the forecast and the truth alone.
    score = (forecast**2).sum(axis=1) - 2.0 * (forecast * truth).sum(axis=1) + 1.0
    return ScoreDecomposition(
        _expected(world, score),
        _expected(world, ((forecast - recalibrated) ** 2).sum(axis=1)),
        _expected(world, ((recalibrated - truth) ** 2).sum(axis=1)),
        _expected(world, 1.0 - (truth**2).sum(axis=1)),
    )


def decompose_log(world: FiniteWorld) -> ScoreDecomposition:
    r"""Split the log loss E[−log F_Y], in nats [1]_.

    .. math:: E[-\log F_Y] = E\,KL(C\|F) + E\,KL(P\|C) + E\,H(P)

    Raises
    ------
    FiniteWorldError
        A forecast gives 0 to an outcome that can come: the loss is infinite.

    References
    ----------
    .. [1] As in `decompose_brier`.

    Examples
    --------
    >>> from udfs.finite_worlds import finite_world
    >>> parts = decompose_log(finite_world([1.0], [[1.0, 0.0]], [[0.5, 0.5]]))
    >>> parts.score == parts.reliability == math.log(2.0), parts.irreducible
    (True, 0.0)
    """
    forecast, truth = world.forecast, world.truth
    if bool(np.any((forecast == 0.0) & (truth > 0.0) & (world.context_probability > 0.0)[:, None])):
        raise FiniteWorldError(
            "a forecast must give every outcome that can come more than 0, got 0: the log loss is "
            "infinite; decompose the Brier score, or smooth the forecast."
        )
    recalibrated = recalibration(world)
    return ScoreDecomposition(
        _expected(world, -_mean_log(truth, forecast)),
        _expected(world, _mean_log(recalibrated, recalibrated) - _mean_log(recalibrated, forecast)),
        _expected(world, _mean_log(truth, truth) - _mean_log(truth, recalibrated)),
        _expected(world, -_mean_log(truth, truth)),
    )


def _mean_log(weight: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return Σ weight · log value for every context, with 0 · log 0 = 0."""
    logs = np.log(values, out=np.zeros_like(values), where=values > 0.0)
    summed: NDArray[np.float64] = (weight * logs).sum(axis=1)
    return summed


def _expected(world: FiniteWorld, values: NDArray[np.float64]) -> float:
    return math.fsum((world.context_probability * values).tolist())
