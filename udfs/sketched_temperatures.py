"""A temperature fit as SQL asks for it: from the mean sketch of any number of tokens."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from udfs.loss_curves import SketchedRows
from udfs.temperature import fit_temperature


@dataclass(frozen=True)
class SketchedFit:
    """One fit, see `udfs.temperature.TemperatureFit`; None where there is no honest number."""

    status: str
    fitted_temperature: float | None
    log_loss_nats: float | None
    log_loss_at_1_nats: float
    gradient: float
    curvature: float
    iteration_count: int


def fit_mean_sketch(mean_sketch: ArrayLike, mean_log_probability_nats: float) -> SketchedFit:
    """Fit the temperature of all tokens behind a mean sketch.

    The mean log loss is mean log Z(β) − β · mean z_y, and log Z is linear in the sketch: the means
    hold all that the fit can see.

    Parameters
    ----------
    mean_sketch : array_like of float, shape (16,)
        Mean over the tokens of `udfs.temperature_sketch.temperature_sketch`, in double precision.
    mean_log_probability_nats : float
        Mean of z_y, at most 0.

    Examples
    --------
    >>> from udfs.temperature_sketch import temperature_sketch
    >>> sketch = temperature_sketch([[-0.2876820724517809, -1.3862943611198906]])[0]
    >>> fit_mean_sketch(sketch, 0.0).status
    'outside_sketch'
    """
    sketch = np.asarray(mean_sketch, dtype=np.float64)[None]
    fit = fit_temperature(SketchedRows(sketch, [mean_log_probability_nats]))
    return SketchedFit(
        fit.status.value,
        fit.fitted_temperature,
        fit.log_loss_nats,
        fit.log_loss_at_1_nats,
        fit.gradient,
        fit.curvature,
        fit.iteration_count,
    )
