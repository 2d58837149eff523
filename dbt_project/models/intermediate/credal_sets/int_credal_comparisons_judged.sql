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

credal_comparisons_judged as (

    select
        comparisons_listed.study_name,
        comparisons_listed.story_source_name,
        comparisons_listed.coordinate_frame,
        comparisons_listed.axes,
        comparisons_listed.axis_count,
        comparisons_listed.has_human_stories,
        comparisons_listed.has_human_vectors,
        coalesce(credal_sets.prompt_count, 0) as prompt_count,
        credal_sets.incomplete_prompt_count,
        credal_sets.is_degenerate,
        coalesce(credal_sets_compared.shared_prompt_count, 0) as shared_prompt_count,
        case
            when not comparisons_listed.has_human_stories then 'no_human_stories'
            when not comparisons_listed.has_human_vectors then 'no_human_vectors'
            when coalesce(credal_sets.prompt_count, 0) = 0 then 'no_vectors'
            when credal_sets_compared.shared_prompt_count is null then 'no_shared_prompts'
            when credal_sets_compared.comparison is null then 'too_few_shared_prompts'
            when credal_sets_compared.comparison.volume_ratio is null then 'human_set_is_flat'
            else 'ok'
        end as comparison_status,
        credal_sets_compared.comparison,
        credal_sets_compared.paired_comparison

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

)

select * from credal_comparisons_judged
