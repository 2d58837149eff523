with

credal_overlaps_resampled as (

    select * from {{ ref('int_credal_overlaps_resampled') }}

),

bootstrap_measures as (

    select
        study_name,
        story_source_name,
        axes,
        axis_count,
        shared_prompt_count,
        coordinate_frames,
        unnest(bootstrap_measures) as measure

    from credal_overlaps_resampled

),

half_measures as (

    select
        study_name,
        story_source_name,
        axes,
        unnest(half_measures) as measure,
        unnest(human_half_measures) as human_measure

    from credal_overlaps_resampled

),

credal_overlap_draws_listed as (

    select
        bootstrap_measures.study_name,
        bootstrap_measures.story_source_name,
        bootstrap_measures.coordinate_frames[bootstrap_measures.measure.frame_index + 1]
            as coordinate_frame,
        bootstrap_measures.axes,
        bootstrap_measures.axis_count,
        bootstrap_measures.measure.measure_name,
        bootstrap_measures.shared_prompt_count,
        bootstrap_measures.measure.draws as bootstrap_draws,
        half_measures.measure.draws as half_draws,
        half_measures.human_measure.draws as human_half_draws

    from bootstrap_measures

    -- Halves have no rank correlation: they share no prompt.
    left join half_measures
        on
            bootstrap_measures.study_name = half_measures.study_name
            and bootstrap_measures.story_source_name = half_measures.story_source_name
            and bootstrap_measures.axes = half_measures.axes
            and bootstrap_measures.measure.frame_index = half_measures.measure.frame_index
            and bootstrap_measures.measure.measure_name = half_measures.measure.measure_name

)

select * from credal_overlap_draws_listed
