"""The figures of the report in their order: what each shows, from which tables, with which choices.

A figure without a chart is a table. The page's script selects the rows of a figure under its name
(`assets/selections.js`, `assets/laboratory.js`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from flows.report import calibration_charts, diversity_charts, overview_charts


@dataclass(frozen=True)
class Control:
    """A choice that the reader makes; its options come from the tables."""

    name: str
    label: str


@dataclass(frozen=True)
class Figure:
    """One figure: the first of its *queries* holds the rows that it draws and lists."""

    name: str
    title: str
    caption: str
    queries: tuple[str, ...]
    chart: Callable[[], dict[str, Any]] | None = None
    controls: tuple[Control, ...] = ()
    has_laboratory: bool = False
    shows_table: bool = False


@dataclass(frozen=True)
class Section:
    """Figures under one heading; *when_empty* says what would fill a section without any row."""

    name: str
    title: str
    introduction: str
    when_empty: str
    figures: tuple[Figure, ...]


STORY_SOURCE = Control("story_source", "Story source")
AXES = Control("axes", "Axes")
AXIS = Control("axis", "Axis")
BIN_COUNT = Control("bin_count", "Bins")
TEST_SET = Control("test_set", "Test set")
LANGUAGE_MODEL = Control("scored_model", "Language model")

OVERVIEW = Section(
    "overview",
    "Overview",
    "What was run, on what data, when, and with which versions; what was asked for, obtained and "
    "rejected.",
    "The snapshot names no study.",
    (
        Figure(
            "samples",
            "Stories asked for and obtained",
            "Every story of a person and every sample asked of a language model, by what became of "
            "it. Nothing is filled in: a sample that is missing, empty or too short stays so.",
            ("samples",),
            overview_charts.samples,
        ),
        Figure(
            "rejects",
            "Rejected, and why",
            "Prompts, stories, samples, forecasts and tokens that were left out, by reason.",
            ("rejects",),
            overview_charts.rejects,
        ),
        Figure(
            "story_sets",
            "Asked for, counted, left out",
            "Over the prompts of each story source: samples asked for, stories that its diversity "
            "vectors rest on, and stories left out of them.",
            ("story_sets",),
        ),
        Figure("studies", "Study", "The study's own settings.", ("studies",)),
        Figure("runs", "Runs", "Every command that ran, in UTC; a build serves all.", ("runs",)),
        Figure(
            "language_models",
            "Language models that wrote",
            "Weights, precision and backend behind the stories written here.",
            ("language_models",),
        ),
        Figure("test_sets", "Test sets", "Texts and forecasts with scored tokens.", ("test_sets",)),
    ),
)  # fmt: skip

DIVERSITY = Section(
    "diversity",
    "Text diversity",
    "Does a language model vary where people vary? The stories of one prompt make one diversity "
    "vector; the vectors of a story source over prompts make its credal set, their convex hull. "
    "Axes are z-scores over all story sources of the study (`pooled_z`).",
    "This study has no diversity vectors: they need stories of at least two samples for a prompt, "
    "measured by `calibrary measure`, or vectors brought by `calibrary ingest diversity-vectors`.",
    (
        Figure(
            "diversity_summaries",
            "How varied each story source is",
            "Over prompts: the bar spans the quartiles, the tick is the median, the diamond the "
            "mean. 0: all stories of a prompt are alike.",
            ("diversity_summaries",),
            diversity_charts.diversity_summaries,
            (AXIS,),
        ),
        Figure(
            "principal_components",
            "Credal sets in principal components",
            "Each point is one prompt. The outline is the hull of the points as projected, which "
            "the credal set casts as its shadow.",
            ("principal_coordinates", "principal_components", "prompts"),
            diversity_charts.principal_components,
            (STORY_SOURCE, Control("components", "Components")),
        ),
        Figure(
            "loadings",
            "Loadings",
            "How much each axis weighs in each principal component of all vectors together, and "
            "the share of variance the component explains.",
            ("principal_components",),
            diversity_charts.loadings,
        ),
        Figure(
            "heat_map",
            "Language models and decoding strategies",
            "One measure of the comparison with the human set for each pair; stronger is higher.",
            ("credal_overlaps",),
            diversity_charts.heat_map,
            (Control("overlap_measure", "Measure"), AXES),
        ),
        Figure(
            "volumes",
            "Volumes of credal sets",
            "In cubed standard deviations (squared with two axes). A flat set has volume 0 in "
            "three dimensions and says so in its status.",
            ("credal_sets",),
            diversity_charts.volumes,
            (AXES,),
        ),
        Figure(
            "intervals",
            "Distance from the human set, beside what people reach",
            "The shaded band is where random halves of the people lie to each other in 95 % of the "
            "splits, the dashed line their mean: the human ceiling. Circles are scored on halves "
            "of the same size and are to be compared with it; diamonds are scored on all prompts, "
            "with a bootstrap interval over prompts.",
            ("credal_overlap_intervals",),
            diversity_charts.intervals,
            (Control("interval_measure", "Measure"), AXES),
        ),
        Figure(
            "decomposition",
            "Variance between and within decoding strategies",
            "The ratio depends on the grid of strategies: each line leaves one of them out.",
            ("variance_decompositions",),
            diversity_charts.decomposition,
            (Control("decomposed_model", "Language model"), Control("ddof", "ddof")),
        ),
        Figure(
            "hypothesis_tests",
            "Do groups of configurations differ?",
            "GCV's tests over configurations, with every p-value beside the number of values it "
            "rests on. None is corrected for the number of tests.",
            ("hypothesis_tests",),
            controls=(Control("tested_measure", "Measure"), AXES),
        ),
        Figure(
            "prompt_scatter",
            "Prompt by prompt",
            "Diversity of the story source against that of people for the same prompt; on the "
            "dashed line they are equal.",
            ("diversity_vectors", "prompts"),
            diversity_charts.prompt_scatter,
            (STORY_SOURCE, AXIS),
        ),
    ),
)

CALIBRATION = Section(
    "calibration",
    "Token calibration",
    "Do a language model's probabilities mean what they say? Of tokens forecast with confidence "
    "0.7, seven in ten should come. A calibrated twin redraws every hit with its own confidence: "
    "what it shows is noise.",
    "This study has no scored tokens: `calibrary score` scores a test set by a language model, "
    "`calibrary ingest forecasts` brings forecasts made elsewhere.",
    (
        Figure(
            "reliability_diagram",
            "Reliability diagram",
            "Circles are bins, as large as their tokens; lines drop to the diagonal, where "
            "confidence and accuracy are equal. The band holds 95 % of calibrated twins.",
            (
                "reliability_bins",
                "tempered_reliability_bins",
                "calibration_errors",
                "temperature_curves",
                "temperature_fits",
                "prediction_set_coverage",
            ),
            calibration_charts.reliability_diagram,
            (TEST_SET, LANGUAGE_MODEL, BIN_COUNT),
            has_laboratory=True,
        ),
        Figure(
            "error_curve",
            "Calibration error by temperature",
            "The band is two standard deviations around the error of a calibrated twin. Solid "
            "rule: the temperature chosen above; dashed rule: the fitted one.",
            ("temperature_curves", "temperature_fits"),
            calibration_charts.error_curve,
        ),
        Figure(
            "loss_curve",
            "Log loss by temperature",
            "Lowest at the fitted temperature, where one exists.",
            ("temperature_curves", "temperature_fits"),
            calibration_charts.loss_curve,
        ),
        Figure(
            "temperature_fits",
            "Fitted temperatures",
            "Overall and by group of tokens. A gain is cross-fitted between halves of the "
            "sentences, and may be negative.",
            ("temperature_fits",),
        ),
        Figure(
            "breakdown",
            "Where it is miscalibrated",
            "Gap of each class of tokens; left of zero is overconfident. The bar is two standard "
            "deviations of a calibrated twin.",
            ("confidence_breakdowns",),
            calibration_charts.breakdown,
            (Control("breakdown", "Breakdown"),),
        ),
        Figure(
            "fact_regimes",
            "Facts by how often the training text states them",
            "Circles are mean confidence, diamonds accuracy, the line between them the gap; in "
            "brackets the number of probes. `all` is what one temperature would have to serve.",
            ("fact_regimes",),
            calibration_charts.fact_regimes,
            (Control("fact_model", "Fact model"),),
        ),
        Figure(
            "coverage",
            "Coverage of prediction sets",
            "How often what came lies in the set, against what the set claims.",
            ("prediction_set_coverage",),
            calibration_charts.coverage,
            (Control("set_temperature", "Temperature"),),
        ),
    ),
)

PUBLISHED = Section(
    "published",
    "Published against recomputed",
    "Every figure printed in The Geometry of Creative Variability, beside what its own published "
    "inputs give and what this study gives.",
    "This snapshot holds no reconciliation with published figures.",
    (
        Figure(
            "verdicts",
            "Verdicts",
            "How many printed figures are reproduced within their printed precision.",
            ("published_reconciliations",),
            overview_charts.verdicts,
            (Control("verdict_from", "Recomputed from"),),
            shows_table=True,
        ),
    ),
)

SECTIONS = (OVERVIEW, DIVERSITY, CALIBRATION, PUBLISHED)
