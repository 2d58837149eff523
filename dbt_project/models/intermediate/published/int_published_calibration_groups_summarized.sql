with

calibrations as (

    select * from {{ ref('int_published_calibrations_listed') }}

),

published_calibration_groups_summarized as (

    {{ calibration_groups('calibrations') }}

)

select * from published_calibration_groups_summarized
