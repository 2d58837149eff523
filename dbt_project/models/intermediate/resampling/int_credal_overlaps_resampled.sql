with

credal_point_lists as (

    select * from {{ ref('int_credal_point_lists_paired') }}

),

axis_units as (

    select * from {{ ref('int_axis_units_built') }}

),

-- As many points as axes always lie in one plane: there is no full hull to compare.
measured_point_lists as (

    select
        credal_point_lists.study_name,
        credal_point_lists.story_source_name,
        credal_point_lists.axes,
        credal_point_lists.axis_count,
        credal_point_lists.shared_prompt_count,
        credal_point_lists.human_points,
        credal_point_lists.story_source_points,
        axis_units.coordinate_frames,
        axis_units.axis_units

    from credal_point_lists

    inner join axis_units
        on
            credal_point_lists.study_name = axis_units.study_name
            and credal_point_lists.axes = axis_units.axes

    where
        credal_point_lists.coordinate_frame = 'raw'
        and credal_point_lists.shared_prompt_count > credal_point_lists.axis_count

),

credal_overlaps_resampled as (

    select
        study_name,
        story_source_name,
        axes,
        axis_count,
        shared_prompt_count,
        coordinate_frames,
        bootstrap_overlaps(
            human_points,
            story_source_points,
            axis_units,
            {{ var('bootstrap_replicate_count') }},
            {{ var('bootstrap_seed') }}
        ) as bootstrap_measures,
        split_half_overlaps(
            human_points,
            story_source_points,
            axis_units,
            {{ var('split_count') }},
            {{ var('split_seed') }}
        ) as half_measures,
        split_half_overlaps(
            human_points,
            human_points,
            axis_units,
            {{ var('split_count') }},
            {{ var('split_seed') }}
        ) as human_half_measures

    from measured_point_lists

)

select * from credal_overlaps_resampled
