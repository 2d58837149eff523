with

raw_vectors as (

    select *

    from {{ ref('int_diversity_vectors_scaled') }}

    where coordinate_frame = 'raw'

),

story_sources as (

    select * from {{ ref('dim_story_sources') }}

),

language_model_scales_fitted as (

    select
        story_sources.study_name,
        story_sources.language_model_name,
        axis_scale(
            list(
                raw_vectors.semantic_coordinate
                order by raw_vectors.story_source_name, raw_vectors.prompt_id
            )
        ) as semantic_scale,
        axis_scale(
            list(
                raw_vectors.lexical_coordinate
                order by raw_vectors.story_source_name, raw_vectors.prompt_id
            )
        ) as lexical_scale,
        axis_scale(
            list(
                raw_vectors.syntactic_coordinate
                order by raw_vectors.story_source_name, raw_vectors.prompt_id
            )
        ) as syntactic_scale

    from raw_vectors

    inner join story_sources
        on
            raw_vectors.study_name = story_sources.study_name
            and raw_vectors.story_source_name = story_sources.story_source_name

    where story_sources.language_model_name is not null

    group by 1, 2

)

select * from language_model_scales_fitted
