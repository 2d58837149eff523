{#- Measures of `fct_credal_overlaps` that are resampled, by the names of their columns. -#}
{% macro overlap_measures() -%}
    {{ return([
        'overlap_calibration',
        'overlap_calibration_half_mean_variance',
        'overlap_calibration_fixed_1',
        'centroid_distance',
        'volume_ratio',
        'composite_calibration',
        'iou',
        'hausdorff_distance',
        'hausdorff_vertex_distance',
        'wasserstein_semantic',
        'wasserstein_lexical',
        'wasserstein_syntactic',
        'wasserstein_mean',
        'diversity_rank_correlation_semantic',
        'diversity_rank_correlation_lexical',
        'diversity_rank_correlation_syntactic',
        'diversity_rank_correlation'
    ]) }}
{%- endmacro %}
