with

draws as (

    select * from {{ ref('int_credal_overlap_draws_listed') }}

),

credal_overlap_draws_summarized as (

    select
        study_name,
        story_source_name,
        coordinate_frame,
        axes,
        axis_count,
        measure_name,
        shared_prompt_count,
        bootstrap_draws,
        half_draws,
        human_half_draws,
        value_range(bootstrap_draws) as bootstrap_range,
        value_range(half_draws) as half_range,
        value_range(human_half_draws) as human_half_range,
        paired_difference_range(human_half_draws, half_draws) as ceiling_difference

    from draws

)

select * from credal_overlap_draws_summarized
