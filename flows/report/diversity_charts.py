"""Charts of text diversity: credal sets, their volumes, and their distance from the human set.

Fields named `horizontal`, `vertical` and `value` are columns of a mart that the reader chooses.
"""

from __future__ import annotations

from typing import Any

import altair as alt

from flows.report.chart_style import (
    BAND,
    BROKEN_NAME,
    CATEGORIES,
    GENERATED,
    HUMAN,
    INK,
    MUTED,
    ROWS,
    SURFACE,
    finished,
    named,
    story_source_axis,
    tooltip,
)

IS_HUMAN = "datum.story_source_name == 'human'"
HORIZONTAL_TITLE = "{horizontal}"
VERTICAL_TITLE = "{vertical}"
"""Stand for what the reader chose; the page writes it in."""


def _by_kind() -> alt.Color:
    return alt.Color(
        "kind:N",
        title=None,
        scale=alt.Scale(domain=["human", "generated"], range=[HUMAN, GENERATED]),
    )


def diversity_summaries() -> dict[str, Any]:
    """Quartiles, median and mean of one axis over prompts, by story source."""
    base = alt.Chart(named()).encode(
        y=story_source_axis(),
        tooltip=tooltip(
            "story_source_name:N", "prompt_count:Q", "diversity_mean:Q", "diversity_sd:Q",
            "diversity_quartile_1:Q", "diversity_median:Q", "diversity_quartile_3:Q",
        ),
    )  # fmt: skip
    color = alt.condition(IS_HUMAN, alt.value(HUMAN), alt.value(GENERATED))
    box = base.mark_bar(height=12, opacity=0.45).encode(
        x=alt.X(
            "diversity_quartile_1:Q", title=HORIZONTAL_TITLE, scale=alt.Scale(zero=False)
        ),
        x2="diversity_quartile_3:Q",
        color=color,
    )  # fmt: skip
    median = base.mark_tick(height=18, thickness=2).encode(
        x="diversity_median:Q", color=alt.value(INK)
    )
    mean = base.mark_point(size=50, filled=True, shape="diamond", opacity=1).encode(
        x="diversity_mean:Q", color=color
    )
    return finished(alt.layer(box, median, mean), alt.Step(36))


def principal_components() -> dict[str, Any]:
    """Points and hulls of the human set and one story source in two principal components."""
    zero_free = alt.Scale(zero=False)
    hulls = (
        alt.Chart(named("hulls"))
        .mark_line(interpolate="linear-closed", fillOpacity=0.14, strokeWidth=2)
        .encode(
            x=alt.X("horizontal:Q", title=HORIZONTAL_TITLE, scale=zero_free),
            y=alt.Y("vertical:Q", title=VERTICAL_TITLE, scale=zero_free),
            order="order:Q",
            color=_by_kind(),
            fill=alt.condition("datum.kind == 'human'", alt.value(HUMAN), alt.value(GENERATED)),
        )
    )
    points = (
        alt.Chart(named())
        .mark_point(filled=True, size=34, opacity=0.75)
        .encode(
            x="horizontal:Q",
            y="vertical:Q",
            color=_by_kind(),
            shape=alt.Shape(
                "kind:N",
                title=None,
                scale=alt.Scale(domain=["human", "generated"], range=["circle", "triangle-up"]),
            ),
            tooltip=tooltip("story_source_name:N", "prompt_text:N", "horizontal:Q", "vertical:Q"),
        )
    )
    return finished(alt.layer(hulls, points), 420)


def loadings() -> dict[str, Any]:
    """How much each axis weighs in each principal component."""
    chart = (
        alt.Chart(named("loadings"))
        .mark_bar()
        .encode(
            x=alt.X("loading:Q", title="loading", scale=alt.Scale(domain=[-1, 1])),
            y=alt.Y("component:N", title=None),
            yOffset=alt.YOffset("axis:N"),
            color=alt.Color("axis:N", title="axis"),
            tooltip=tooltip("component:N", "axis:N", "loading:Q"),
        )
    )
    return finished(chart, alt.Step(16))


def heat_map() -> dict[str, Any]:
    """One measure by language model and decoding strategy."""
    base = alt.Chart(named()).encode(
        x=alt.X("decoding_strategy_name:N", title=None, axis=alt.Axis(labelAngle=-35)),
        y=alt.Y("language_model_name:N", title=None),
    )
    cells = base.mark_rect(color=GENERATED, stroke=SURFACE, strokeWidth=2).encode(
        # Strength of one colour, not a scale of colours: the figures stay legible in either theme.
        fillOpacity=alt.FillOpacity(
            "value:Q", legend=None, scale=alt.Scale(range=[0.06, 0.55], zero=False)
        ),
        tooltip=tooltip(
            "language_model_name:N", "decoding_strategy_name:N", "value:Q",
            "shared_prompt_count:Q", "comparison_status:N",
        ),
    )  # fmt: skip
    figures = base.mark_text(fontSize=13).encode(text=alt.Text("value:Q", format=".3~g"))
    return finished(alt.layer(cells, figures), alt.Step(46))


def volumes() -> dict[str, Any]:
    """Volume of every credal set."""
    chart = (
        alt.Chart(named())
        .mark_bar()
        .encode(
            x=alt.X("hull_volume:Q", title=HORIZONTAL_TITLE),
            y=alt.Y(
                "story_source_name:N", title=None, sort="-x",
                axis=alt.Axis(labelExpr=BROKEN_NAME, labelOffset=-6),
            ),
            color=alt.condition(IS_HUMAN, alt.value(HUMAN), alt.value(GENERATED)),
            tooltip=tooltip(
                "story_source_name:N", "hull_volume:Q", "hull_rank:Q", "prompt_count:Q",
                "is_degenerate:N", "credal_set_status:N",
            ),
        )
    )  # fmt: skip
    return finished(chart, alt.Step(36))


def intervals() -> dict[str, Any]:
    """One measure with its intervals, over the range that halves of the people reach."""
    ceiling = alt.Chart(named("ceiling"))
    band = ceiling.mark_rect(color=BAND).encode(
        x=alt.X("human_ceiling_low:Q", title=HORIZONTAL_TITLE), x2="human_ceiling_high:Q"
    )
    middle = ceiling.mark_rule(color=HUMAN, strokeWidth=2, strokeDash=[6, 3]).encode(
        x="human_ceiling_mean:Q"
    )
    base = alt.Chart(named("scores")).encode(
        y=story_source_axis(),
        yOffset=alt.YOffset("scored_on:N"),
        color=alt.Color(
            "scored_on:N",
            title=None,
            scale=alt.Scale(
                domain=["all prompts", "halves of the prompts"],
                range=[CATEGORIES[0], GENERATED],
            ),
        ),
        tooltip=tooltip("story_source_name:N", "scored_on:N", "value:Q", "low:Q", "high:Q"),
    )
    spans = base.mark_rule(strokeWidth=3, opacity=0.7).encode(x="low:Q", x2="high:Q")
    points = base.mark_point(filled=True, size=70, opacity=1).encode(
        x="value:Q",
        shape=alt.Shape(
            "scored_on:N",
            title=None,
            scale=alt.Scale(
                domain=["all prompts", "halves of the prompts"], range=["diamond", "circle"]
            ),
        ),
    )
    return finished(alt.layer(band, middle, spans, points), alt.Step(22))


def decomposition() -> dict[str, Any]:
    """Epistemic ratio of a language model with all strategies and with each left out."""
    base = alt.Chart(named()).encode(
        y=alt.Y("left_out_strategy_name:N", title="strategy left out"),
        tooltip=tooltip(
            "left_out_strategy_name:N", "epistemic_ratio:Q", "epistemic_ratio_low:Q",
            "epistemic_ratio_high:Q", "between_strategy_variance:Q",
            "within_strategy_variance:Q", "strategy_count:Q",
        ),
    )  # fmt: skip
    spans = base.mark_rule(strokeWidth=3, color=GENERATED, opacity=0.6).encode(
        x=alt.X(
            "epistemic_ratio_low:Q",
            title="between / (between + within) variance",
            scale=alt.Scale(domain=[0, 1]),
        ),
        x2="epistemic_ratio_high:Q",
    )
    points = base.mark_point(filled=True, size=80, opacity=1).encode(
        x="epistemic_ratio:Q",
        color=alt.condition(
            "datum.left_out_strategy_name == 'none'", alt.value(INK), alt.value(GENERATED)
        ),
    )
    return finished(alt.layer(spans, points), alt.Step(28))


def prompt_scatter() -> dict[str, Any]:
    """Diversity of each prompt: the story source above the people, with the line of equality."""
    zero_free = alt.Scale(zero=False)
    line = (
        alt.Chart(named("diagonal"))
        .mark_line(color=MUTED, strokeDash=[5, 4], strokeWidth=1.5)
        .encode(x="horizontal:Q", y="vertical:Q")
    )
    points = (
        alt.Chart(named(ROWS))
        .mark_point(filled=True, size=40, opacity=0.7, color=GENERATED)
        .encode(
            x=alt.X("horizontal:Q", title=HORIZONTAL_TITLE, scale=zero_free),
            y=alt.Y("vertical:Q", title=VERTICAL_TITLE, scale=zero_free),
            tooltip=tooltip("prompt_text:N", "horizontal:Q", "vertical:Q"),
        )
    )
    return finished(alt.layer(line, points), 400)
