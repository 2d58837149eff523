with

calibration_groups as (

    select * from {{ ref('int_calibration_groups_summarized') }}

),

fct_calibration_summaries as (

    select
        calibration_groups.study_name,
        calibration_groups.coordinate_frame,
        calibration_groups.axes,
        calibration_groups.measure_name,
        calibration_groups.group_kind,
        calibration_groups.group_name,
        calibration_groups.configuration_count,
        calibration_groups.parameter_count_billions,
        calibration_groups.is_instruction_tuned,
        calibration_groups.scale.mean as measure_mean,
        calibration_groups.scale.sd as measure_sd,
        case
            when calibration_groups.configuration_count > 1
                then
                    calibration_groups.scale.sd
                    * sqrt(
                        calibration_groups.configuration_count
                        / (calibration_groups.configuration_count - 1)
                    )
        end as measure_sd_ddof_1,
        calibration_groups.highest,
        calibration_groups.best_story_source_name,
        '{{ var("definition_version") }}' as definition_version

    from calibration_groups

    order by
        calibration_groups.study_name,
        calibration_groups.coordinate_frame,
        calibration_groups.axes,
        calibration_groups.measure_name,
        calibration_groups.group_kind,
        calibration_groups.group_name

)

select * from fct_calibration_summaries
