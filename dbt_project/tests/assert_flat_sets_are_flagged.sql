-- A returned row is a credal set whose rank, volume, measure, flag and vertices contradict one
-- another.
with

credal_sets as (

    select * from {{ ref('fct_credal_sets') }}

),

contradictory_sets as (

    select
        study_name,
        story_source_name,
        coordinate_frame,
        axes,
        hull_rank,
        hull_measure,
        hull_volume,
        is_degenerate,
        vertex_count

    from credal_sets

    where
        is_degenerate != (hull_rank < axis_count)
        or is_degenerate != (hull_volume = 0)
        or (not is_degenerate and hull_measure != hull_volume)
        or is_degenerate != (credal_set_status != 'ok')
        or vertex_count != len(vertices)
        or vertex_count <= hull_rank
        or hull_measure <= 0

)

select * from contradictory_sets
