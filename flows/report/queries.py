"""What the report asks of the marts: one statement per table that the page carries.

Every statement names the columns it needs, so that a mart may gain columns, and takes the studies
as the bound list ``$study_names``.
"""

from __future__ import annotations

from dataclasses import dataclass

STUDY_NAMES = "$study_names"
"""The parameter of every statement: the list of studies on the page."""


@dataclass(frozen=True)
class ReportQuery:
    """One statement, the mart that its rows come from, and who would fill it."""

    name: str
    mart: str
    sql: str


OVERVIEW = (
    ReportQuery(
        "studies",
        "dim_studies",
        """select study_name, study_file_name, prompt_count, story_source_count, has_human_set,
    stories_per_prompt, samples_per_prompt, tokenizer_name, embedding_model_name,
    tagging_model_name, definition_version
from dim_studies
where list_contains($study_names, study_name)
order by study_name""",
    ),
    ReportQuery(
        "publications",
        "dim_publications",
        """select publication_number, published_at, code_commit, package_versions_json
from dim_publications
where len($study_names) > 0
order by publication_number desc
limit 1""",
    ),
    ReportQuery(
        "runs",
        "dim_runs",
        """select study_name, command, run_status, started_at, wall_seconds, detail
from dim_runs
where study_name is null or list_contains($study_names, study_name)
order by started_at, command""",
    ),
    ReportQuery(
        "samples",
        "fct_stories",
        """select study_name, story_source_name, story_status, count(*) as story_count,
    count(*) filter (where is_selected) as selected_story_count
from fct_stories
where list_contains($study_names, study_name)
group by all
order by all""",
    ),
    ReportQuery(
        "story_sets",
        "fct_diversity_vectors",
        """select study_name, story_source_name, count(*) as prompt_count,
    cast(sum(requested_story_count) as bigint) as requested_story_count,
    cast(sum(story_count) as bigint) as story_count,
    cast(sum(excluded_story_count) as bigint) as excluded_story_count
from fct_diversity_vectors
where list_contains($study_names, study_name)
group by all
order by all""",
    ),
    ReportQuery(
        "rejects",
        "fct_rejects",
        """select study_name, reject_kind, reason, count(*) as reject_count
from fct_rejects
where list_contains($study_names, study_name)
group by all
order by all""",
    ),
    ReportQuery(
        "language_models",
        "dim_language_models",
        """select study_name, language_model_name, language_model_revision, quantization,
    dtype_name, backend_name, parameter_count, story_count
from dim_language_models
where list_contains($study_names, study_name)
order by all""",
    ),
    ReportQuery(
        "test_sets",
        "dim_test_sets",
        """select study_name, test_set_name, test_set_kind, language_model_count, text_count,
    document_count, byte_count
from dim_test_sets
where list_contains($study_names, study_name)
order by all""",
    ),
)

DIVERSITY = (
    ReportQuery(
        "story_sources",
        "dim_story_sources",
        """select study_name, story_source_name, story_kind, language_model_name,
    decoding_strategy_name, story_count, prompt_count
from dim_story_sources
where list_contains($study_names, study_name)
order by study_name, story_source_name""",
    ),
    ReportQuery(
        "prompts",
        "dim_prompts",
        """select study_name, prompt_id, source_prompt_id, left(prompt_text, 160) as prompt_text
from dim_prompts
where list_contains($study_names, study_name) and is_selected
order by study_name, prompt_id""",
    ),
    ReportQuery(
        "diversity_summaries",
        "fct_diversity_summaries",
        """select study_name, story_source_name, axis_name, prompt_count, diversity_mean,
    diversity_sd, diversity_quartile_1, diversity_median, diversity_quartile_3
from fct_diversity_summaries
where list_contains($study_names, study_name)
order by study_name, story_source_name, axis_name""",
    ),
    ReportQuery(
        "principal_coordinates",
        "fct_principal_coordinates",
        """select study_name, story_source_name, prompt_id, coordinate_1, coordinate_2, coordinate_3
from fct_principal_coordinates
where list_contains($study_names, study_name) and coordinate_frame = 'pooled_z'
order by study_name, story_source_name, prompt_id""",
    ),
    ReportQuery(
        "principal_components",
        "fct_principal_components",
        """select study_name, fitted_on, component_number, vector_count, explained_variance_share,
    semantic_loading, lexical_loading, syntactic_loading
from fct_principal_components
where list_contains($study_names, study_name) and coordinate_frame = 'pooled_z'
order by study_name, fitted_on, component_number""",
    ),
    ReportQuery(
        "credal_sets",
        "fct_credal_sets",
        """select study_name, story_source_name, axes, prompt_count, hull_rank, vertex_count,
    hull_volume, hull_measure, is_degenerate, credal_set_status
from fct_credal_sets
where list_contains($study_names, study_name) and coordinate_frame = 'pooled_z'
order by study_name, axes, story_source_name""",
    ),
    ReportQuery(
        "credal_overlaps",
        "fct_credal_overlaps",
        """select study_name, story_source_name, language_model_name, decoding_strategy_name, axes,
    shared_prompt_count, comparison_status, overlap_calibration, overlap_threshold,
    centroid_distance, volume_ratio, composite_calibration, iou, iou_status, hausdorff_distance,
    wasserstein_mean, diversity_rank_correlation
from fct_credal_overlaps
inner join dim_story_sources using (study_name, story_source_name)
where list_contains($study_names, study_name) and coordinate_frame = 'pooled_z'
order by study_name, axes, story_source_name""",
    ),
    ReportQuery(
        "credal_overlap_intervals",
        "fct_credal_overlap_intervals",
        """select study_name, story_source_name, axes, measure_name, shared_prompt_count, estimate,
    bootstrap_low, bootstrap_high, bootstrap_bias, half_mean, half_low, half_high,
    human_ceiling_mean, human_ceiling_low, human_ceiling_high, is_resolved_from_ceiling,
    half_prompt_count
from fct_credal_overlap_intervals
where list_contains($study_names, study_name) and coordinate_frame = 'pooled_z'
order by study_name, axes, measure_name, story_source_name""",
    ),
    ReportQuery(
        "variance_decompositions",
        "fct_variance_decompositions",
        """select study_name, language_model_name, left_out_strategy_name, ddof, strategy_count,
    prompt_count, between_strategy_variance, within_strategy_variance, epistemic_ratio,
    epistemic_ratio_low, epistemic_ratio_high
from fct_variance_decompositions
where list_contains($study_names, study_name) and coordinate_frame = 'pooled_z'
order by study_name, language_model_name, ddof, left_out_strategy_name""",
    ),
    ReportQuery(
        "hypothesis_tests",
        "fct_hypothesis_tests",
        """select study_name, axes, measure_name, test_name, statistic, p_value, exact_p_value,
    effect_size, value_count, convention
from fct_hypothesis_tests
where list_contains($study_names, study_name) and coordinate_frame = 'pooled_z'
order by study_name, axes, measure_name, test_name""",
    ),
    ReportQuery(
        "diversity_vectors",
        "fct_diversity_vectors",
        """select study_name, story_source_name, prompt_id, semantic_diversity, lexical_diversity,
    syntactic_diversity, story_count, diversity_status
from fct_diversity_vectors
where list_contains($study_names, study_name)
order by study_name, story_source_name, prompt_id""",
    ),
)

CALIBRATION = (
    ReportQuery(
        "reliability_bins",
        "fct_reliability_bins",
        """select study_name, test_set_name, language_model_name, bin_count, bin_index, lower_edge,
    upper_edge, token_count, hit_count, variance_sum, mean_confidence, accuracy, gap
from fct_reliability_bins
where list_contains($study_names, study_name) and binning = 'equal_width'
    and bin_count in (5, 10, 15, 30, 60)
order by study_name, test_set_name, language_model_name, bin_count, bin_index""",
    ),
    ReportQuery(
        "tempered_reliability_bins",
        "fct_tempered_reliability_bins",
        """select study_name, test_set_name, language_model_name, applied_temperature, bin_count,
    bin_index, lower_edge, upper_edge, token_count, hit_count, variance_sum, mean_confidence,
    accuracy, gap
from fct_tempered_reliability_bins
where list_contains($study_names, study_name) and applied_temperature != 1
order by study_name, test_set_name, language_model_name, applied_temperature, bin_count,
    bin_index""",
    ),
    ReportQuery(
        "calibration_errors",
        "fct_calibration_errors",
        """select study_name, test_set_name, language_model_name, bin_count, token_count,
    rejected_count, mean_confidence, accuracy, gap, ece_plugin, twin_ece_mean, twin_ece_sd, ece_z,
    reliability_debiased, log_loss_nats, bits_per_byte
from fct_calibration_errors
where list_contains($study_names, study_name) and binning = 'equal_width'
    and bin_count in (5, 10, 15, 30, 60)
order by study_name, test_set_name, language_model_name, bin_count""",
    ),
    ReportQuery(
        "temperature_curves",
        "fct_temperature_curves",
        """select study_name, test_set_name, language_model_name, applied_temperature, bin_count,
    token_count, log_loss_nats, mean_confidence, accuracy, gap, ece_plugin, twin_ece_mean,
    twin_ece_sd
from fct_temperature_curves
where list_contains($study_names, study_name)
order by study_name, test_set_name, language_model_name, bin_count, applied_temperature""",
    ),
    ReportQuery(
        "temperature_fits",
        "fct_temperature_fits",
        """select study_name, test_set_name, language_model_name, token_group, class_name,
    fold_name, token_count, fit_status, fitted_temperature, log_loss_nats, log_loss_at_1_nats,
    temperature_gain_nats
from fct_temperature_fits
where list_contains($study_names, study_name)
order by study_name, test_set_name, language_model_name, token_group, class_name, fold_name""",
    ),
    ReportQuery(
        "prediction_set_coverage",
        "fct_prediction_set_coverage",
        """select study_name, test_set_name, language_model_name, applied_temperature, set_kind,
    target_coverage, coverage_status, token_count, prediction_set_coverage, kept_mass,
    mean_prediction_set_size, coverage_ceiling
from fct_prediction_set_coverage
where list_contains($study_names, study_name)
order by study_name, test_set_name, language_model_name, applied_temperature, set_kind,
    target_coverage""",
    ),
    ReportQuery(
        "fact_regimes",
        "fct_fact_regimes",
        """select study_name, test_set_name, language_model_name, regime, probe_count,
    mean_confidence, accuracy, gap, fit_status, fitted_temperature, log_loss_at_1_nats,
    log_loss_at_pooled_nats, log_loss_nats
from fct_fact_regimes
where list_contains($study_names, study_name)
order by study_name, test_set_name, language_model_name, regime""",
    ),
    ReportQuery(
        "confidence_breakdowns",
        "fct_confidence_breakdowns",
        """select study_name, test_set_name, language_model_name, breakdown_name, class_name,
    token_count, mean_confidence, accuracy, gap, twin_gap_sd, log_loss_nats
from fct_confidence_breakdowns
where list_contains($study_names, study_name) and breakdown_name != 'document'
order by study_name, test_set_name, language_model_name, breakdown_name, token_count desc,
    class_name""",
    ),
)

PUBLISHED = (
    ReportQuery(
        "published_reconciliations",
        "fct_published_reconciliations",
        """select study_name, section, printed_in, subject_name, statistic_name, published_value,
    tolerance, value_from_published, verdict_from_published, value_from_study, verdict_from_study,
    note
from fct_published_reconciliations
where list_contains($study_names, study_name)
order by study_name, section, printed_in, subject_name, statistic_name""",
    ),
)

QUERIES = OVERVIEW + DIVERSITY + CALIBRATION + PUBLISHED
