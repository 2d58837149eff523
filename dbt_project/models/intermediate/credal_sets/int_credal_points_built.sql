with

scaled_vectors as (

    select * from {{ ref('int_diversity_vectors_scaled') }}

),

credal_points_built as (

    select
        study_name,
        prompt_id,
        story_source_name,
        coordinate_frame,
        'semantic_lexical_syntactic' as axes,
        3 as axis_count,
        [semantic_coordinate, lexical_coordinate, syntactic_coordinate] as point

    from scaled_vectors

    union all

    select
        study_name,
        prompt_id,
        story_source_name,
        coordinate_frame,
        'semantic_lexical' as axes,
        2 as axis_count,
        [semantic_coordinate, lexical_coordinate] as point

    from scaled_vectors

)

select * from credal_points_built
