with

axis_scales as (

    select * from {{ ref('int_axis_scales_fitted') }}

),

-- What one unit of an axis as measured is in the frame; a constant axis is 0 there.
frame_units as (

    select
        axis_scales.study_name,
        axis_scales.coordinate_frame,
        {{ axis_unit('axis_scales.semantic_scale') }} as semantic_unit,
        {{ axis_unit('axis_scales.lexical_scale') }} as lexical_unit,
        {{ axis_unit('axis_scales.syntactic_scale') }} as syntactic_unit

    from axis_scales

    where axis_scales.coordinate_frame in ('pooled_z', 'human_z')

    union all

    select
        study_name,
        'raw' as coordinate_frame,
        1 as semantic_unit,
        1 as lexical_unit,
        1 as syntactic_unit

    from axis_scales

    where coordinate_frame = 'pooled_z'

),

axis_units_built as (

    select
        study_name,
        'semantic_lexical_syntactic' as axes,
        list(coordinate_frame order by coordinate_frame) as coordinate_frames,
        list([semantic_unit, lexical_unit, syntactic_unit] order by coordinate_frame)
            as axis_units

    from frame_units

    group by 1

    union all

    select
        study_name,
        'semantic_lexical' as axes,
        list(coordinate_frame order by coordinate_frame) as coordinate_frames,
        list([semantic_unit, lexical_unit] order by coordinate_frame) as axis_units

    from frame_units

    group by 1

)

select * from axis_units_built
