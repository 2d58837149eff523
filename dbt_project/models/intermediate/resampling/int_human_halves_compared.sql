with

credal_points as (

    select * from {{ ref('int_credal_points_built') }}

),

axis_units as (

    select * from {{ ref('int_axis_units_built') }}

),

human_point_lists as (

    select
        study_name,
        axes,
        axis_count,
        cast(count(*) as integer) as human_prompt_count,
        list(point order by prompt_id) as points

    from credal_points

    where
        story_source_name = 'human'
        and coordinate_frame = 'raw'

    group by 1, 2, 3

    having count(*) > axis_count

),

human_halves_compared as (

    select
        human_point_lists.study_name,
        human_point_lists.axes,
        human_point_lists.axis_count,
        human_point_lists.human_prompt_count,
        axis_units.coordinate_frames,
        unnest(
            split_half_overlaps(
                human_point_lists.points,
                human_point_lists.points,
                axis_units.axis_units,
                {{ var('split_count') }},
                {{ var('split_seed') }}
            )
        ) as measure

    from human_point_lists

    inner join axis_units
        on
            human_point_lists.study_name = axis_units.study_name
            and human_point_lists.axes = axis_units.axes

)

select * from human_halves_compared
