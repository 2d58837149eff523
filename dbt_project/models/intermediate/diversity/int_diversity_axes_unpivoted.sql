with

diversity_vectors as (

    select * from {{ ref('int_diversity_vectors_unioned') }}

),

diversity_axes_unpivoted as (

    {% for axis in ['semantic', 'lexical', 'syntactic'] %}
        select
            study_name,
            story_source_name,
            prompt_id,
            '{{ axis }}' as axis_name,
            {{ axis }}_diversity as diversity

        from diversity_vectors

        where {{ axis }}_diversity is not null

        {{ 'union all' if not loop.last }}

    {% endfor %}
)

select * from diversity_axes_unpivoted
