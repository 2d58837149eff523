-- A returned row is a volume ratio that differs from the volumes of the two credal sets, although
-- all of their prompts were shared.
with

credal_overlaps as (

    select * from {{ ref('fct_credal_overlaps') }}

),

credal_sets as (

    select * from {{ ref('fct_credal_sets') }}

),

differing_ratios as (

    select
        credal_overlaps.study_name,
        credal_overlaps.story_source_name,
        credal_overlaps.coordinate_frame,
        credal_overlaps.axes,
        credal_overlaps.volume_ratio,
        story_source_sets.hull_volume / human_sets.hull_volume as ratio_of_volumes

    from credal_overlaps

    inner join credal_sets as story_source_sets
        on
            credal_overlaps.study_name = story_source_sets.study_name
            and credal_overlaps.story_source_name = story_source_sets.story_source_name
            and credal_overlaps.coordinate_frame = story_source_sets.coordinate_frame
            and credal_overlaps.axes = story_source_sets.axes

    inner join credal_sets as human_sets
        on
            credal_overlaps.study_name = human_sets.study_name
            and credal_overlaps.coordinate_frame = human_sets.coordinate_frame
            and credal_overlaps.axes = human_sets.axes

    where
        human_sets.story_source_name = 'human'
        and credal_overlaps.comparison_status = 'ok'
        and credal_overlaps.shared_prompt_count = story_source_sets.prompt_count
        and credal_overlaps.shared_prompt_count = human_sets.prompt_count
        -- The same hull of the same points: only the last bits may differ.
        and abs(
            credal_overlaps.volume_ratio * human_sets.hull_volume - story_source_sets.hull_volume
        ) > 1e-12 * story_source_sets.hull_volume

)

select * from differing_ratios
