with

diversity_summaries as (

    select *

    from {{ ref('fct_diversity_summaries') }}

    where story_source_name = 'human'

),

credal_overlaps as (

    select *

    from {{ ref('fct_credal_overlaps') }}

    where
        coordinate_frame = 'pooled_z'
        and axes = 'semantic_lexical_syntactic'

),

-- GCV prints the mean over the axes; the mart has the sum over its three.
decompositions as (

    select
        study_name,
        language_model_name,
        between_strategy_variance / 3 as epistemic,
        within_strategy_variance / 3 as aleatoric,
        (between_strategy_variance + within_strategy_variance) / 3 as total,
        epistemic_ratio

    from {{ ref('fct_variance_decompositions') }}

    where
        coordinate_frame = 'pooled_z'
        and ddof = 0
        and left_out_strategy_name = 'none'

),

study_tables_recomputed as (

    {% for printed_in, subject_name, statistic_name, value, relation in [
        ('Table 1', 'axis_name', 'mean', 'diversity_mean', 'diversity_summaries'),
        ('Table 1', 'axis_name', 'sd', 'diversity_sd', 'diversity_summaries'),
        (
            'Table 2', 'story_source_name', 'overall_calibration', 'composite_calibration',
            'credal_overlaps'
        ),
        ('Table 2', 'story_source_name', 'overlap', 'overlap_calibration', 'credal_overlaps'),
        (
            'Table 2', 'story_source_name', 'centroid_distance', 'centroid_distance',
            'credal_overlaps'
        ),
        ('Table 2', 'story_source_name', 'volume_ratio', 'volume_ratio', 'credal_overlaps'),
        ('Table 3', 'language_model_name', 'epistemic', 'epistemic', 'decompositions'),
        ('Table 3', 'language_model_name', 'aleatoric', 'aleatoric', 'decompositions'),
        ('Table 3', 'language_model_name', 'total', 'total', 'decompositions'),
        ('Table 3', 'language_model_name', 'epistemic_ratio', 'epistemic_ratio', 'decompositions'),
        ('Table 4', 'story_source_name', 'calibration', 'composite_calibration', 'credal_overlaps'),
    ] %}
        select
            study_name,
            '{{ printed_in }}' as printed_in,
            {{ subject_name }} as subject_name,
            '{{ statistic_name }}' as statistic_name,
            {{ value }} as figure_value

        from {{ relation }}

        {{ 'union all' if not loop.last }}

    {% endfor %}
)

select * from study_tables_recomputed
