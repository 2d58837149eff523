with

scaled_vectors as (

    select * from {{ ref('int_diversity_vectors_scaled') }}

),

principal_components as (

    select *

    from {{ ref('fct_principal_components') }}

    where fitted_on = 'all'

),

directions as (

    select
        study_name,
        coordinate_frame,
        list(
            [semantic_loading, lexical_loading, syntactic_loading] order by component_number
        ) as loadings

    from principal_components

    group by 1, 2

),

fct_principal_coordinates as (

    select
        scaled_vectors.study_name,
        scaled_vectors.coordinate_frame,
        scaled_vectors.story_source_name,
        scaled_vectors.prompt_id,
        {% for component in (1, 2, 3) %}
            directions.loadings[{{ component }}][1] * scaled_vectors.semantic_coordinate
            + directions.loadings[{{ component }}][2] * scaled_vectors.lexical_coordinate
            + directions.loadings[{{ component }}][3] * scaled_vectors.syntactic_coordinate
                as coordinate_{{ component }},
        {% endfor %}
        '{{ var("definition_version") }}' as definition_version

    from scaled_vectors

    inner join directions
        on
            scaled_vectors.study_name = directions.study_name
            and scaled_vectors.coordinate_frame = directions.coordinate_frame

    order by
        scaled_vectors.study_name,
        scaled_vectors.coordinate_frame,
        scaled_vectors.story_source_name,
        scaled_vectors.prompt_id

)

select * from fct_principal_coordinates
