"""Charts of token calibration: the reliability diagram and what changes with temperature."""

from __future__ import annotations

from typing import Any

import altair as alt

from flows.report.chart_style import (
    BAND,
    CATEGORIES,
    GENERATED,
    HUMAN,
    INK,
    MUTED,
    finished,
    named,
    tooltip,
)

# Two standard deviations of a calibrated twin: 95 % where a bin has many tokens.
TWIN_WIDTH = "2 * sqrt(datum.variance_sum) / datum.token_count"
UNIT = alt.Scale(domain=[0, 1])
# Temperatures that a token's sketch can tell of.
SKETCHED = alt.Scale(domain=[0.5, 2], nice=False)


def reliability_diagram() -> dict[str, Any]:
    """Accuracy against mean confidence of each bin, over the band of a calibrated twin."""
    occupied = alt.Chart(named()).transform_filter("datum.token_count > 0")
    band = (
        occupied.transform_calculate(
            twin_low=f"max(0, datum.mean_confidence - {TWIN_WIDTH})",
            twin_high=f"min(1, datum.mean_confidence + {TWIN_WIDTH})",
        )
        .mark_rect(color=BAND)
        .encode(
            x=alt.X("lower_edge:Q", title="mean confidence", scale=UNIT),
            x2="upper_edge:Q",
            y=alt.Y("twin_low:Q", title="accuracy", scale=UNIT),
            y2="twin_high:Q",
        )
    )
    diagonal = (
        alt.Chart(named("diagonal"))
        .mark_line(color=MUTED, strokeDash=[5, 4], strokeWidth=1.5)
        .encode(x="horizontal:Q", y="vertical:Q")
    )
    gaps = occupied.mark_rule(color=GENERATED, strokeWidth=1.5, opacity=0.8).encode(
        x="mean_confidence:Q", y="mean_confidence:Q", y2="accuracy:Q"
    )
    points = occupied.mark_point(filled=True, color=GENERATED, opacity=0.85).encode(
        x="mean_confidence:Q",
        y="accuracy:Q",
        size=alt.Size(
            "token_count:Q",
            title="tokens",
            scale=alt.Scale(range=[12, 700], zero=True),
            legend=alt.Legend(tickCount=3, columns=6),
        ),
        tooltip=tooltip(
            "lower_edge:Q", "upper_edge:Q", "token_count:Q", "hit_count:Q",
            "mean_confidence:Q", "accuracy:Q", "gap:Q",
        ),
    )  # fmt: skip
    return finished(alt.layer(band, diagonal, gaps, points), 420)


def error_curve() -> dict[str, Any]:
    """Calibration error by temperature, beside the error of a calibrated twin."""
    rows = alt.Chart(named())
    x = alt.X("applied_temperature:Q", title="temperature", scale=SKETCHED)
    band = (
        rows.transform_calculate(
            twin_low="max(0, datum.twin_ece_mean - 2 * datum.twin_ece_sd)",
            twin_high="datum.twin_ece_mean + 2 * datum.twin_ece_sd",
        )
        .mark_area(color=BAND)
        .encode(x=x, y=alt.Y("twin_low:Q", title="ECE"), y2="twin_high:Q")
    )
    line = rows.mark_line(color=GENERATED, point=alt.OverlayMarkDef(color=GENERATED, size=40))
    curve = line.encode(
        x=x,
        y="ece_plugin:Q",
        tooltip=tooltip(
            "applied_temperature:Q", "ece_plugin:Q", "twin_ece_mean:Q", "twin_ece_sd:Q"
        ),
    )
    return finished(alt.layer(band, curve, *_marked_temperatures()), 300)


def loss_curve() -> dict[str, Any]:
    """Mean log loss by temperature."""
    line = alt.Chart(named()).mark_line(
        color=CATEGORIES[0], point=alt.OverlayMarkDef(color=CATEGORIES[0], size=40)
    )
    curve = line.encode(
        x=alt.X("applied_temperature:Q", title="temperature", scale=SKETCHED),
        y=alt.Y("log_loss_nats:Q", title="log loss, nats per token", scale=alt.Scale(zero=False)),
        tooltip=tooltip("applied_temperature:Q", "log_loss_nats:Q"),
    )
    return finished(alt.layer(curve, *_marked_temperatures()), 300)


def breakdown() -> dict[str, Any]:
    """Gap of each class of tokens, over two standard deviations of a calibrated twin."""
    base = alt.Chart(named()).encode(
        y=alt.Y("class_name:N", title=None, sort=None),
        tooltip=tooltip(
            "class_name:N", "token_count:Q", "mean_confidence:Q", "accuracy:Q", "gap:Q",
            "twin_gap_sd:Q",
        ),
    )  # fmt: skip
    band = (
        base.transform_calculate(
            twin_low="-2 * datum.twin_gap_sd", twin_high="2 * datum.twin_gap_sd"
        )
        .mark_bar(color=BAND, height=14)
        .encode(x=alt.X("twin_low:Q", title="gap: accuracy − mean confidence"), x2="twin_high:Q")
    )
    zero = alt.Chart(named("zero")).mark_rule(color=MUTED).encode(x="gap:Q")
    points = base.mark_point(filled=True, color=GENERATED, opacity=0.9).encode(
        x="gap:Q",
        size=alt.Size(
            "token_count:Q",
            title="tokens",
            scale=alt.Scale(range=[20, 300], zero=True),
            legend=alt.Legend(tickCount=3, columns=6),
        ),
    )
    return finished(alt.layer(band, zero, points), alt.Step(22))


def fact_regimes() -> dict[str, Any]:
    """Mean confidence and accuracy of each regime, joined by their gap."""
    base = alt.Chart(named()).encode(
        y=alt.Y("place:N", title=None, sort=None),
        tooltip=tooltip(
            "test_set_name:N", "regime:N", "probe_count:Q", "mean_confidence:Q", "accuracy:Q",
            "gap:Q", "fit_status:N", "fitted_temperature:Q",
        ),
    )  # fmt: skip
    x = alt.X("mean_confidence:Q", title="mean confidence (circle), accuracy (diamond)", scale=UNIT)
    gap = base.mark_rule(color=MUTED, strokeWidth=2).encode(x=x, x2="accuracy:Q")
    confidence = base.mark_point(filled=True, color=GENERATED, size=80, opacity=1).encode(x=x)
    accuracy = base.mark_point(
        filled=True, color=HUMAN, size=80, shape="diamond", opacity=1
    ).encode(x="accuracy:Q")
    return finished(alt.layer(gap, confidence, accuracy), alt.Step(30))


def coverage() -> dict[str, Any]:
    """Measured against claimed coverage of prediction sets."""
    diagonal = (
        alt.Chart(named("diagonal"))
        .mark_line(color=MUTED, strokeDash=[5, 4], strokeWidth=1.5)
        .encode(x="horizontal:Q", y="vertical:Q")
    )
    base = alt.Chart(named()).encode(
        x=alt.X("target_coverage:Q", title="coverage asked for", scale=alt.Scale(zero=False)),
        y=alt.Y(
            "prediction_set_coverage:Q", title="coverage measured", scale=alt.Scale(zero=False)
        ),
        color=alt.Color("set_kind:N", title="kind of set"),
        shape=alt.Shape("set_kind:N", legend=None),
        tooltip=tooltip(
            "set_kind:N", "target_coverage:Q", "prediction_set_coverage:Q", "kept_mass:Q",
            "mean_prediction_set_size:Q", "token_count:Q",
        ),
    )  # fmt: skip
    return finished(
        alt.layer(diagonal, base.mark_line(opacity=0.5), base.mark_point(filled=True, size=70)),
        340,
    )


def _marked_temperatures() -> tuple[alt.Chart, alt.Chart]:
    """Return the rules at the temperature chosen and at the fitted one."""
    chosen = alt.Chart(named("chosen")).mark_rule(color=INK, strokeWidth=1.5, clip=True)
    fitted = alt.Chart(named("fitted")).mark_rule(
        color=HUMAN, strokeWidth=2, strokeDash=[6, 3], clip=True
    )
    return (
        chosen.encode(x="applied_temperature:Q"),
        fitted.encode(
            x="fitted_temperature:Q", tooltip=tooltip("fitted_temperature:Q", "fit_status:N")
        ),
    )
