"""What a study file says about drift: how far a figure may move between two publications."""

from __future__ import annotations

from typing import Literal, Self

from pydantic import Field, model_validator

from flows.strict_model import StrictModel


class DriftLimit(StrictModel):
    """How far the figures of one measure may move before `calibrary run` and `compare` fail.

    With both limits given a figure has drifted when it is beyond both: surely, and by enough to
    matter.
    """

    measure_name: str
    """As in ``fct_run_changes``."""
    largest_change_in_units: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Standard deviations of a difference that is noise alone."""
    largest_change: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """In the measure's own unit, above the noise floor where there is one."""
    direction: Literal["either", "up", "down"] = "either"
    """Which way counts: ``up`` for an error that must not grow."""
    figure_kind: str | None = None
    """This and what follows leave other figures of the measure out."""
    test_set_name: str | None = None
    language_model_name: str | None = None
    binning: str | None = None
    story_source_name: str | None = None
    coordinate_frame: str | None = None
    axes: str | None = None

    @model_validator(mode="after")
    def _has_a_limit(self) -> Self:
        if self.largest_change_in_units is None and self.largest_change is None:
            raise ValueError(
                "a drift limit must have largest_change_in_units, largest_change or both"
            )
        return self
