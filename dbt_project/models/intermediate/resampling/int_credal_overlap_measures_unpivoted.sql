with

credal_overlaps as (

    select * from {{ ref('fct_credal_overlaps') }}

),

credal_sets as (

    select * from {{ ref('fct_credal_sets') }}

),

credal_overlap_measures_unpivoted as (

    {% for measure_name in overlap_measures() %}
        select
            study_name,
            story_source_name,
            coordinate_frame,
            axes,
            '{{ measure_name }}' as measure_name,
            {{ measure_name }} as estimate

        from credal_overlaps

        union all

    {% endfor %}
    -- A hull grows with n: its volume is set beside its draws where all of its prompts are shared.
    select
        credal_sets.study_name,
        credal_sets.story_source_name,
        credal_sets.coordinate_frame,
        credal_sets.axes,
        'hull_volume' as measure_name,
        credal_sets.hull_volume as estimate

    from credal_sets

    inner join credal_overlaps
        on
            credal_sets.study_name = credal_overlaps.study_name
            and credal_sets.story_source_name = credal_overlaps.story_source_name
            and credal_sets.coordinate_frame = credal_overlaps.coordinate_frame
            and credal_sets.axes = credal_overlaps.axes
            and credal_sets.prompt_count = credal_overlaps.shared_prompt_count
)

select * from credal_overlap_measures_unpivoted
