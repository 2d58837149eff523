with

credal_point_lists as (

    select * from {{ ref('int_credal_point_lists_paired') }}

),

credal_sets_compared as (

    select
        study_name,
        story_source_name,
        coordinate_frame,
        axes,
        axis_count,
        shared_prompt_count,
        -- As many points as axes always lie in one plane: there is no full hull to compare.
        case
            when shared_prompt_count > axis_count
                then credal_overlap(human_points, story_source_points)
        end as comparison,
        case
            when shared_prompt_count > axis_count
                then paired_comparison(human_points, story_source_points)
        end as paired_comparison

    from credal_point_lists

)

select * from credal_sets_compared
