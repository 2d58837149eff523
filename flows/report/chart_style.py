"""How the charts look: colours are the page's own variables, so that they follow its theme."""

from __future__ import annotations

from typing import Any

import altair as alt

# Variables of the style sheet: a chart changes between light, dark and print without being redrawn.
INK = "var(--ink)"
MUTED = "var(--muted)"
GRID = "var(--grid)"
SURFACE = "var(--surface)"
HUMAN = "var(--human)"
GENERATED = "var(--generated)"
BAND = "var(--band)"
CATEGORIES = [f"var(--category-{number})" for number in range(1, 7)]

ROWS = "rows"
"""Name of the data set that a chart's table and CSV show; the page fills it."""

CONFIG: dict[str, Any] = {
    "background": "transparent",
    "font": "system-ui, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelColor": INK,
        "titleColor": INK,
        "domainColor": MUTED,
        "tickColor": MUTED,
        "gridColor": GRID,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": 600,
    },
    "legend": {
        "labelColor": INK,
        "titleColor": INK,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "orient": "top",
        "direction": "horizontal",
        "symbolOpacity": 1,
        "labelLimit": 260,
        "symbolLimit": 30,
    },
    "text": {"color": INK, "fontSize": 12},
    "rule": {"color": MUTED},
    "range": {"category": CATEGORIES},
}


# People first; long names of story sources break before their decoding strategy.
PEOPLE_FIRST = ["human"]
BROKEN_NAME = "split(datum.label, '/')"


def story_source_axis() -> alt.Y:
    """Return the vertical place of story sources."""
    return alt.Y(
        "story_source_name:N",
        title=None,
        sort=PEOPLE_FIRST,
        axis=alt.Axis(labelExpr=BROKEN_NAME, labelOffset=-6),
    )


def named(name: str = ROWS) -> alt.NamedData:
    """Return a data set that the page's script fills."""
    return alt.NamedData(name=name)


def finished(
    chart: alt.Chart | alt.LayerChart | alt.FacetChart, height: int | alt.Step = 340
) -> dict[str, Any]:
    """Return *chart* as a Vega-Lite specification that is as wide as its place."""
    sized = chart.properties(width="container", height=height)
    specification: dict[str, Any] = sized.to_dict()
    specification["config"] = CONFIG
    return specification


def tooltip(*fields: str) -> list[alt.Tooltip]:
    """Return a tooltip with the columns *fields* under their own names."""
    return [alt.Tooltip(field, title=field.split(":")[0]) for field in fields]
