"""Finite worlds: contexts, truths and forecasts so few that every expectation is a sum.

On a corpus nobody knows the true next-token distribution. Here it is given, so that what holds for
every forecaster can be checked to the last digits.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from udfs.errors import CalibraryError
from udfs.reliability_bins import bin_index

SUM_TOLERANCE = 1e-9
"""How far a distribution may sum from 1: ten printed digits pass, a forgotten outcome does not."""


class FiniteWorldError(CalibraryError):
    """Numbers that describe no finite world."""


@dataclass(frozen=True)
class FiniteWorld:
    """Contexts with their probability, their truth and their forecast.

    Attributes
    ----------
    context_probability : ndarray of float64, shape (contexts,)
        π, sums to 1.
    truth : ndarray of float64, shape (contexts, outcomes)
        P, the true distribution of the next token; rows sum to 1.
    forecast : ndarray of float64, shape (contexts, outcomes)
        F, rows sum to 1. Contexts with exactly equal rows share one forecast.
    """

    context_probability: NDArray[np.float64]
    truth: NDArray[np.float64]
    forecast: NDArray[np.float64]


@dataclass(frozen=True)
class TopLabels:
    """The top label of every context: the outcome of lowest number among the likeliest.

    Attributes
    ----------
    confidence : ndarray of float64, shape (contexts,)
        Probability that the forecast gives it.
    hit_probability : ndarray of float64, shape (contexts,)
        Probability that it comes.
    """

    confidence: NDArray[np.float64]
    hit_probability: NDArray[np.float64]


def finite_world(
    context_probability: ArrayLike, truth: ArrayLike, forecast: ArrayLike
) -> FiniteWorld:
    """Build a `FiniteWorld` from plain numbers.

    Raises
    ------
    FiniteWorldError
        Shapes do not fit, or something is no distribution.

    Examples
    --------
    >>> finite_world([1.0], [[0.5, 0.5]], [[0.25, 0.75]]).forecast.tolist()
    [[0.25, 0.75]]
    """
    weights = np.asarray(context_probability, dtype=np.float64)
    rows = {"truth": np.asarray(truth, np.float64), "forecast": np.asarray(forecast, np.float64)}
    _refuse_no_distribution("context_probability", weights[None])
    for name, values in rows.items():
        if values.shape != rows["truth"].shape or values.shape[:1] != weights.shape:
            raise FiniteWorldError(
                "truth and forecast must have one row per context and one column per outcome, "
                f"got {name} of shape {values.shape} for {len(weights)} contexts."
            )
        _refuse_no_distribution(name, values)
    return FiniteWorld(weights, rows["truth"], rows["forecast"])


def random_world(
    rng: np.random.Generator, context_count: int, forecast_count: int, outcome_count: int
) -> FiniteWorld:
    """Draw a world from uniform (Dirichlet) distributions.

    Parameters
    ----------
    rng : numpy.random.Generator
    context_count, forecast_count, outcome_count : int
        Contexts, different forecasts they share, and outcomes.
    """
    forecasts = rng.dirichlet(np.ones(outcome_count), size=forecast_count)
    return finite_world(
        rng.dirichlet(np.ones(context_count)),
        rng.dirichlet(np.ones(outcome_count), size=context_count),
        forecasts[rng.integers(0, forecast_count, size=context_count)],
    )


def recalibration(world: FiniteWorld) -> NDArray[np.float64]:
    """C = E[P | F]: the truth averaged over all contexts that receive the same forecast [1]_.

    Returns
    -------
    ndarray of float64, shape (contexts, outcomes)

    References
    ----------
    .. [1] *Calibration of Language Models*, "What calibration means".

    Examples
    --------
    >>> world = finite_world([0.5, 0.5], [[1.0, 0.0], [0.5, 0.5]], [[0.5, 0.5], [0.5, 0.5]])
    >>> recalibration(world).tolist()
    [[0.75, 0.25], [0.75, 0.25]]
    """
    _, group = np.unique(world.forecast, axis=0, return_inverse=True)
    group = group.reshape(-1)
    mass = np.bincount(group, weights=world.context_probability)
    summed = np.zeros((len(mass), world.truth.shape[1]))
    np.add.at(summed, group, world.context_probability[:, None] * world.truth)
    shared = np.divide(summed, mass[:, None], out=np.zeros_like(summed), where=mass[:, None] > 0)
    # Forecasts that no context of positive probability receives have nothing to be averaged.
    return np.where(mass[group][:, None] > 0, shared[group], world.forecast)


def calibrated(world: FiniteWorld) -> FiniteWorld:
    """Return the same contexts and truths under the recalibrated forecast."""
    return FiniteWorld(world.context_probability, world.truth, recalibration(world))


def top_labels(world: FiniteWorld) -> TopLabels:
    """Confidence and hit probability of every context.

    Examples
    --------
    >>> labels = top_labels(finite_world([1.0], [[0.25, 0.75]], [[0.5, 0.5]]))
    >>> labels.confidence.tolist(), labels.hit_probability.tolist()
    ([0.5], [0.25])
    """
    label = world.forecast.argmax(axis=1)[:, None]
    return TopLabels(
        np.take_along_axis(world.forecast, label, axis=1)[:, 0],
        np.take_along_axis(world.truth, label, axis=1)[:, 0],
    )


def population_ece(world: FiniteWorld, bin_count: int) -> float:
    """ECE without sampling noise: Σ over bins of |Σ π(hit probability − confidence)|, in [0, 1].

    Splitting bins never lowers it (the triangle inequality).

    Examples
    --------
    >>> population_ece(finite_world([1.0], [[0.25, 0.75]], [[0.5, 0.5]]), 10)
    0.25
    """
    labels = top_labels(world)
    gaps = world.context_probability * (labels.hit_probability - labels.confidence)
    index = bin_index(np.minimum(labels.confidence, 1.0), bin_count)
    return float(np.abs(np.bincount(index, weights=gaps)).sum())


def _refuse_no_distribution(name: str, rows: NDArray[np.float64]) -> None:
    sums = rows.sum(axis=1)
    if not bool(np.all(rows >= 0.0) and np.all(np.abs(sums - 1.0) <= SUM_TOLERANCE)):
        raise FiniteWorldError(
            f"{name} must hold distributions (at least 0, summing to 1), got sums {sums.tolist()}."
        )
