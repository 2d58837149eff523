with

credal_points as (

    select * from {{ ref('int_credal_points_built') }}

),

human_points as (

    select *

    from credal_points

    where story_source_name = 'human'

),

story_source_points as (

    select *

    from credal_points

    where story_source_name != 'human'

),

credal_point_lists_paired as (

    select
        story_source_points.study_name,
        story_source_points.story_source_name,
        story_source_points.coordinate_frame,
        story_source_points.axes,
        story_source_points.axis_count,
        cast(count(*) as integer) as shared_prompt_count,
        list(human_points.point order by story_source_points.prompt_id) as human_points,
        list(story_source_points.point order by story_source_points.prompt_id)
            as story_source_points

    from story_source_points

    inner join human_points
        on
            story_source_points.study_name = human_points.study_name
            and story_source_points.prompt_id = human_points.prompt_id
            and story_source_points.coordinate_frame = human_points.coordinate_frame
            and story_source_points.axes = human_points.axes

    group by 1, 2, 3, 4, 5

)

select * from credal_point_lists_paired
