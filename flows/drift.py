"""Hold the figures of a published study to the drift limits of its study file."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from flows.progress import REPORTER
from flows.run_changes import FigureChange, read_changes
from flows.study import Study, StudyError
from flows.study_drift import DriftLimit
from udfs.errors import CalibraryError

MOST_NAMED = 3
"""Figures named in the sentence; `calibrary compare` shows all."""

_NARROWING = (
    "figure_kind",
    "test_set_name",
    "language_model_name",
    "binning",
    "story_source_name",
    "coordinate_frame",
    "axes",
)


class DriftError(CalibraryError):
    """Figures of a study moved beyond its drift limits."""


def refuse_drift(home: Path, study: Study) -> None:
    """Compare the published figures of *study* with its limits; do nothing where it sets none.

    A figure that had a value and has none now is beyond every limit. What cannot be compared
    (another definition, no noise, new or gone) has not drifted; a note counts it. The answer
    depends on the snapshot alone, so asking again says the same until the next publication that
    moves a figure of the study.

    Raises
    ------
    DriftError
        A figure is beyond a limit. The snapshot is published all the same.
    StudyError
        A limit is about no figure of the study, nor of an optional part that is left out.
    """
    if not study.drift_limits:
        return
    changes = [row for row in read_changes(home) if row.study_name == study.study_name]
    unchecked: dict[FigureChange, str] = {}
    drifted: dict[FigureChange, DriftLimit] = {}
    for limit in study.drift_limits:
        bounded = [change for change in changes if _is_about(limit, change)]
        if not bounded and _is_left_out(limit, study):
            REPORTER.get().note(f"Drift limits: {limit.measure_name} of what is left out.")
        elif not bounded:
            raise StudyError(_sentence_of_idle(limit, study, changes))
        for change in bounded:
            if is_beyond(limit, change) or has_become_undefined(change):
                drifted.setdefault(change, limit)
            elif not _can_tell(limit, change):
                unchecked.setdefault(change, change.change_status)
    if unchecked:
        counts = sorted(Counter(unchecked.values()).items())
        REPORTER.get().note(
            f"Drift limits: {len(unchecked):,} figures not compared: "
            + ", ".join(f"{count:,} {status}" for status, count in counts)
        )
    if drifted:
        raise DriftError(_sentence_of_drift(study, drifted))


def is_beyond(limit: DriftLimit, change: FigureChange) -> bool:
    """Say whether *change* is beyond every bound that *limit* gives."""
    return _can_tell(limit, change) and all(
        _signed(limit, value) > bound for value, bound in _bounds(limit, change)
    )


def has_become_undefined(change: FigureChange) -> bool:
    """Say whether the figure had a value and has none now, as of a fit that no longer converges."""
    was_defined = change.earlier_figure_value is not None
    return change.change_status == "no_value" and was_defined and change.figure_value is None


def _bounds(limit: DriftLimit, change: FigureChange) -> list[tuple[float | None, float]]:
    pairs = (
        (change.change_in_units, limit.largest_change_in_units),
        (change.figure_change, limit.largest_change),
    )
    return [(value, bound) for value, bound in pairs if bound is not None]


def _can_tell(limit: DriftLimit, change: FigureChange) -> bool:
    return all(value is not None for value, _ in _bounds(limit, change))


def _signed(limit: DriftLimit, value: float | None) -> float:
    """Return how far *value* goes in the direction that counts."""
    size = 0.0 if value is None else value
    return {"either": abs(size), "up": size, "down": -size}[limit.direction]


def _is_about(limit: DriftLimit, change: FigureChange) -> bool:
    return limit.measure_name == change.measure_name and all(
        getattr(limit, name) in (None, getattr(change, name)) for name in _NARROWING
    )


def _is_left_out(limit: DriftLimit, study: Study) -> bool:
    """Say whether *limit* is about an optional part of the study that is not here."""
    optional = {
        choice.name
        for choice in (*study.language_models, *study.scored_language_models)
        if choice.is_optional
    }
    return limit.test_set_name in study.absent_test_sets or limit.language_model_name in optional


def _sentence_of_idle(limit: DriftLimit, study: Study, changes: Sequence[FigureChange]) -> str:
    given = limit.model_dump(include={"measure_name", *_NARROWING}, exclude_none=True)
    known = sorted({change.measure_name for change in changes})
    near = difflib.get_close_matches(limit.measure_name, known, n=1)
    if limit.measure_name in known:
        hint = 'calibrary query "select * from fct_run_changes" shows what there is.'
    elif near:
        hint = f"did you mean {near[0]}?"
    else:
        hint = f"its measures are {', '.join(known) or 'none'}."
    described = ", ".join(f"{name}: {value}" for name, value in given.items())
    return (
        f"a drift limit must be about a figure of {study.study_name}, got one about none "
        f"({described}); {hint}"
    )


def _sentence_of_drift(study: Study, drifted: dict[FigureChange, DriftLimit]) -> str:
    since = next(iter(drifted)).earlier_published_at
    named = "; ".join(
        f"{change.as_text()} (limit {_limit_text(limit)})"
        for change, limit in list(drifted.items())[:MOST_NAMED]
    )
    more = f"; and {len(drifted) - MOST_NAMED} more" if len(drifted) > MOST_NAMED else ""
    return (
        f"figures of {study.study_name} must stay within its drift_limits, {len(drifted)} went "
        f"beyond since the publication of {since:%Y-%m-%d %H:%M} UTC: {named}{more}; the snapshot "
        f"is published all the same: see `calibrary compare --study {study.study_name}`, then mend "
        "the cause or change the limit."
    )


def _limit_text(limit: DriftLimit) -> str:
    parts = []
    if limit.largest_change_in_units is not None:
        parts.append(f"{limit.largest_change_in_units:g} units")
    if limit.largest_change is not None:
        parts.append(f"{limit.largest_change:g}")
    way = "" if limit.direction == "either" else f" {limit.direction}"
    return " and ".join(parts) + way
