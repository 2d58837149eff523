with

human_halves_compared as (

    select * from {{ ref('int_human_halves_compared') }}

),

ranges as (

    select
        human_halves_compared.study_name,
        human_halves_compared.coordinate_frames[human_halves_compared.measure.frame_index + 1]
            as coordinate_frame,
        human_halves_compared.axes,
        human_halves_compared.axis_count,
        human_halves_compared.measure.measure_name,
        human_halves_compared.human_prompt_count,
        value_range(human_halves_compared.measure.draws) as ceiling

    from human_halves_compared

),

fct_human_ceilings as (

    select
        ranges.study_name,
        ranges.coordinate_frame,
        ranges.axes,
        ranges.axis_count,
        ranges.measure_name,
        ranges.ceiling.mean as human_ceiling_mean,
        ranges.ceiling.low as human_ceiling_low,
        ranges.ceiling.high as human_ceiling_high,
        ranges.human_prompt_count,
        ranges.human_prompt_count // 2 as half_prompt_count,
        {{ var('split_count') }} as split_count,
        ranges.ceiling.value_count as defined_split_count,
        {{ var('split_seed') }} as split_seed,
        '{{ var("definition_version") }}' as definition_version

    from ranges

    order by ranges.study_name, ranges.coordinate_frame, ranges.axes, ranges.measure_name

)

select * from fct_human_ceilings
