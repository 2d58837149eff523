with

comparisons_listed as (

    select * from {{ ref('int_credal_comparisons_listed') }}

),

credal_sets as (

    select * from {{ ref('fct_credal_sets') }}

),

credal_sets_compared as (

    select * from {{ ref('int_credal_sets_compared') }}

),

compared as (

    select
        comparisons_listed.*,
        coalesce(credal_sets.prompt_count, 0) as prompt_count,
        coalesce(credal_sets_compared.shared_prompt_count, 0) as shared_prompt_count,
        credal_sets_compared.comparison

    from comparisons_listed

    left join credal_sets
        on
            comparisons_listed.study_name = credal_sets.study_name
            and comparisons_listed.story_source_name = credal_sets.story_source_name
            and comparisons_listed.coordinate_frame = credal_sets.coordinate_frame
            and comparisons_listed.axes = credal_sets.axes

    left join credal_sets_compared
        on
            comparisons_listed.study_name = credal_sets_compared.study_name
            and comparisons_listed.story_source_name = credal_sets_compared.story_source_name
            and comparisons_listed.coordinate_frame = credal_sets_compared.coordinate_frame
            and comparisons_listed.axes = credal_sets_compared.axes

),

fct_credal_overlaps as (

    select
        compared.study_name,
        compared.story_source_name,
        compared.coordinate_frame,
        compared.axes,
        compared.axis_count,
        compared.prompt_count,
        compared.shared_prompt_count,
        case
            when compared.prompt_count = 0 then 'no_vectors'
            when not compared.has_human_stories then 'no_human_stories'
            when not compared.has_human_vectors then 'no_human_vectors'
            when compared.shared_prompt_count = 0 then 'no_shared_prompts'
            when compared.shared_prompt_count <= compared.axis_count then 'too_few_shared_prompts'
            when compared.comparison.volume_ratio is null then 'human_set_is_flat'
            else 'ok'
        end as comparison_status,
        compared.comparison.overlap_calibration,
        compared.comparison.overlap_threshold,
        compared.comparison.overlap_calibration_half_mean_variance,
        compared.comparison.overlap_threshold_half_mean_variance,
        compared.comparison.overlap_calibration_fixed_1,
        compared.comparison.centroid_distance,
        compared.comparison.volume_ratio,
        compared.comparison.composite_calibration,
        '{{ var("definition_version") }}' as definition_version

    from compared

    order by
        compared.study_name,
        compared.story_source_name,
        compared.coordinate_frame,
        compared.axes

)

select * from fct_credal_overlaps
