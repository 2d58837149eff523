with

draws as (

    select * from {{ ref('int_credal_overlap_draws_summarized') }}

),

estimates as (

    select * from {{ ref('int_credal_overlap_measures_unpivoted') }}

),

fct_credal_overlap_intervals as (

    select
        draws.study_name,
        draws.story_source_name,
        draws.coordinate_frame,
        draws.axes,
        draws.axis_count,
        draws.measure_name,
        draws.shared_prompt_count,
        estimates.estimate,
        draws.bootstrap_range.mean - estimates.estimate as bootstrap_bias,
        draws.bootstrap_range.low as bootstrap_low,
        draws.bootstrap_range.high as bootstrap_high,
        {{ var('bootstrap_replicate_count') }} as replicate_count,
        draws.bootstrap_range.value_count as defined_replicate_count,
        {{ var('bootstrap_seed') }} as bootstrap_seed,
        draws.half_range.mean as half_mean,
        draws.half_range.low as half_low,
        draws.half_range.high as half_high,
        draws.human_half_range.mean as human_ceiling_mean,
        draws.human_half_range.low as human_ceiling_low,
        draws.human_half_range.high as human_ceiling_high,
        draws.ceiling_difference.low as ceiling_difference_low,
        draws.ceiling_difference.high as ceiling_difference_high,
        not 0 between draws.ceiling_difference.low and draws.ceiling_difference.high
            as is_resolved_from_ceiling,
        draws.shared_prompt_count // 2 as half_prompt_count,
        {{ var('split_count') }} as split_count,
        draws.ceiling_difference.value_count as defined_split_count,
        {{ var('split_seed') }} as split_seed,
        draws.bootstrap_draws,
        '{{ var("definition_version") }}' as definition_version

    from draws

    inner join estimates
        on
            draws.study_name = estimates.study_name
            and draws.story_source_name = estimates.story_source_name
            and draws.coordinate_frame = estimates.coordinate_frame
            and draws.axes = estimates.axes
            and draws.measure_name = estimates.measure_name

    order by
        draws.study_name,
        draws.story_source_name,
        draws.coordinate_frame,
        draws.axes,
        draws.measure_name

)

select * from fct_credal_overlap_intervals
