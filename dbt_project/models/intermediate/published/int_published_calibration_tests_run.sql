with

calibrations as (

    select * from {{ ref('int_published_calibrations_listed') }}

),

calibration_groups as (

    select * from {{ ref('int_published_calibration_groups_summarized') }}

),

published_calibration_tests_run as (

    {{ calibration_tests('calibrations', 'calibration_groups') }}

)

select * from published_calibration_tests_run
