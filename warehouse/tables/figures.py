"""What publications showed, kept so that the next one can be compared with them."""

from __future__ import annotations

import sqlalchemy as sa

from warehouse.tables.columns import key, may, metadata, must

published_figures = sa.Table(
    "published_figures",
    metadata,
    key("publication_id", "Publication that showed the figure, a key of raw.publications."),
    key("figure_id", "Hash of the study, the measure and what it was measured of."),
    must("study_name", sa.String, "Study that the figure belongs to."),
    must(
        "figure_set_id",
        sa.String,
        "Hash of all figures of the study in this publication: equal where none moved.",
    ),
    must(
        "figure_kind",
        sa.String,
        "'calibration_error', 'token_mean', 'temperature_fit', 'credal_overlap' or "
        "'human_ceiling'.",
    ),
    must("measure_name", sa.String, "Measure, as its column is called in the mart it comes from."),
    may("test_set_name", sa.String, "Test set. NULL: a figure of stories."),
    may("language_model_name", sa.String, "Language model. NULL: a figure of stories."),
    may("binning", sa.String, "How confidences were binned. NULL: nothing was."),
    may("story_source_name", sa.String, "Story source. NULL: a figure of tokens."),
    may("coordinate_frame", sa.String, "Scale of the axes. NULL: a figure of tokens."),
    may("axes", sa.String, "Axes of the points. NULL: a figure of tokens."),
    may("figure_value", sa.Double, "The figure. NULL: it was not defined."),
    may("noise_floor", sa.Double, "What noise alone scores, same unit. NULL: it has no floor."),
    may("noise_sd", sa.Double, "Standard deviation of its noise, same unit. NULL: not known."),
    must(
        "noise_kind",
        sa.String,
        "Where noise_sd comes from: 'twin', 'document_bootstrap', 'prompt_bootstrap' or "
        "'prompt_splits'.",
    ),
    must("sample_count", sa.BigInteger, "Tokens or prompts it rests on.", minimum=0),
    must("sample_id", sa.String, "Hash of which tokens or prompts these were."),
    must("definition_json", sa.String, "What it was computed by, as JSON."),
    comment="One row per publication and figure of a study that it was the first to show: a "
    "publication that repeats all figures of a study has no rows of it.",
)
