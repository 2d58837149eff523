"""Charts of what was asked for, obtained and rejected, and of published against recomputed."""

from __future__ import annotations

from typing import Any

import altair as alt

from flows.report.chart_style import CATEGORIES, finished, named, story_source_axis, tooltip

STATUSES = ("ok", "truncated", "too_short", "empty", "failed")
STATUS_COLORS = (
    CATEGORIES[0], CATEGORIES[4], CATEGORIES[1], CATEGORIES[3], CATEGORIES[5],
)  # fmt: skip
VERDICTS = ("reproduces", "differs", "not derivable")
VERDICT_COLORS = (CATEGORIES[2], CATEGORIES[1], CATEGORIES[5])


def samples() -> dict[str, Any]:
    """Stories by story source and status."""
    chart = (
        alt.Chart(named())
        .mark_bar()
        .encode(
            x=alt.X(
                "story_count:Q",
                title="share of the stories",
                stack="normalize",
                axis=alt.Axis(format="%"),
            ),
            y=story_source_axis(),
            color=alt.Color(
                "story_status:N",
                title=None,
                scale=alt.Scale(domain=list(STATUSES), range=list(STATUS_COLORS)),
            ),
            tooltip=tooltip("story_source_name:N", "story_status:N", "story_count:Q"),
        )
    )
    return finished(chart, alt.Step(34))


def rejects() -> dict[str, Any]:
    """Rejects by reason and kind."""
    chart = (
        alt.Chart(named())
        .mark_bar()
        .encode(
            x=alt.X("reject_count:Q", title="rejected records", stack="zero"),
            y=alt.Y("reason:N", title=None, sort="-x"),
            color=alt.Color("reject_kind:N", title=None),
            tooltip=tooltip("reject_kind:N", "reason:N", "reject_count:Q"),
        )
    )
    return finished(chart, alt.Step(26))


def verdicts() -> dict[str, Any]:
    """Figures of the paper by place and verdict; the page names the column of the verdict."""
    chart = (
        alt.Chart(named())
        .mark_bar()
        .encode(
            x=alt.X("count():Q", title="published figures", stack="zero"),
            y=alt.Y("place:N", title=None),
            color=alt.Color(
                "verdict:N",
                title="verdict",
                scale=alt.Scale(domain=list(VERDICTS), range=list(VERDICT_COLORS)),
            ),
            tooltip=[alt.Tooltip("place:N"), alt.Tooltip("verdict:N"), alt.Tooltip("count():Q")],
        )
    )
    return finished(chart, alt.Step(26))
