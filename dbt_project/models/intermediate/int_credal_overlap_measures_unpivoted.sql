with

credal_overlaps as (

    select * from {{ ref('fct_credal_overlaps') }}

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

        {{ 'union all' if not loop.last }}

    {% endfor %}
)

select * from credal_overlap_measures_unpivoted
