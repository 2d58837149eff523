with

calibrations as (

    select * from {{ ref('int_calibrations_unpivoted') }}

),

calibration_groups as (

    select * from {{ ref('int_calibration_groups_summarized') }}

),

hypothesis_tests_run as (

    {{ calibration_tests('calibrations', 'calibration_groups') }}

)

select * from hypothesis_tests_run
