with

credal_sets as (

    select * from {{ ref('fct_credal_sets') }}

),

credal_sets_compared as (

    select * from {{ ref('int_credal_sets_compared') }}

),

human_sets as (

    select *

    from credal_sets

    where story_source_name = 'human'

),

compared as (

    select
        credal_sets.*,
        human_sets.study_name is not null as has_human_set,
        coalesce(credal_sets_compared.shared_prompt_count, 0) as shared_prompt_count,
        credal_sets_compared.comparison

    from credal_sets

    left join human_sets
        on
            credal_sets.study_name = human_sets.study_name
            and credal_sets.coordinate_frame = human_sets.coordinate_frame
            and credal_sets.axes = human_sets.axes

    left join credal_sets_compared
        on
            credal_sets.study_name = credal_sets_compared.study_name
            and credal_sets.story_source_name = credal_sets_compared.story_source_name
            and credal_sets.coordinate_frame = credal_sets_compared.coordinate_frame
            and credal_sets.axes = credal_sets_compared.axes

    where credal_sets.story_source_name != 'human'

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
            when not compared.has_human_set then 'no_human_stories'
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
        compared.definition_version

    from compared

    order by
        compared.study_name,
        compared.story_source_name,
        compared.coordinate_frame,
        compared.axes

)

select * from fct_credal_overlaps
