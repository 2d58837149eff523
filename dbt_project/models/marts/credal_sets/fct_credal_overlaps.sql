with

comparisons as (

    select * from {{ ref('int_credal_comparisons_judged') }}

),

fct_credal_overlaps as (

    select
        comparisons.study_name,
        comparisons.story_source_name,
        comparisons.coordinate_frame,
        comparisons.axes,
        comparisons.axis_count,
        comparisons.prompt_count,
        comparisons.shared_prompt_count,
        comparisons.incomplete_prompt_count,
        comparisons.is_degenerate,
        comparisons.comparison_status,
        comparisons.comparison.overlap_calibration,
        comparisons.comparison.overlap_threshold,
        comparisons.comparison.overlap_calibration_half_mean_variance,
        comparisons.comparison.overlap_threshold_half_mean_variance,
        comparisons.comparison.overlap_calibration_fixed_1,
        comparisons.comparison.centroid_distance,
        comparisons.comparison.volume_ratio,
        comparisons.comparison.composite_calibration,
        comparisons.comparison.iou,
        comparisons.comparison.iou_status,
        comparisons.comparison.hausdorff_distance,
        comparisons.comparison.hausdorff_vertex_distance,
        comparisons.paired_comparison.wasserstein_distances[1] as wasserstein_semantic,
        comparisons.paired_comparison.wasserstein_distances[2] as wasserstein_lexical,
        comparisons.paired_comparison.wasserstein_distances[3] as wasserstein_syntactic,
        comparisons.paired_comparison.wasserstein_mean,
        comparisons.paired_comparison.rank_correlations[1]
            as diversity_rank_correlation_semantic,
        comparisons.paired_comparison.rank_correlations[2]
            as diversity_rank_correlation_lexical,
        comparisons.paired_comparison.rank_correlations[3]
            as diversity_rank_correlation_syntactic,
        comparisons.paired_comparison.rank_correlation_mean as diversity_rank_correlation,
        '{{ var("definition_version") }}' as definition_version

    from comparisons

    order by
        comparisons.study_name,
        comparisons.story_source_name,
        comparisons.coordinate_frame,
        comparisons.axes

)

select * from fct_credal_overlaps
