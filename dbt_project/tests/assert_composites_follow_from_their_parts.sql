-- A returned row is a composite that is not 0.4 overlap + 0.3 / (1 + distance) + 0.3 min(r, 1/r).
with

credal_overlaps as (

    select * from {{ ref('fct_credal_overlaps') }}

),

differing_composites as (

    select
        study_name,
        story_source_name,
        coordinate_frame,
        axes,
        composite_calibration,
        0.4 * overlap_calibration
        + 0.3 / (1 + centroid_distance)
        + 0.3 * case
            when volume_ratio = 0 then 0
            else least(volume_ratio, 1 / volume_ratio)
        end as composite_of_parts

    from credal_overlaps

    where comparison_status = 'ok'

)

select *

from differing_composites

-- Rounding of a sum of three numbers below 1.
where not abs(composite_calibration - composite_of_parts) <= 1e-12
