with

calibrations as (

    select * from {{ ref('int_calibrations_unpivoted') }}

),

calibration_groups_summarized as (

    {{ calibration_groups('calibrations') }}

)

select * from calibration_groups_summarized
