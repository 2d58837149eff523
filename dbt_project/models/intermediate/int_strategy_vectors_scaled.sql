with

scaled_vectors as (

    select * from {{ ref('int_diversity_vectors_scaled') }}

),

story_sources as (

    select * from {{ ref('dim_story_sources') }}

),

language_model_scales as (

    select * from {{ ref('int_language_model_scales_fitted') }}

),

-- Scaled on itself, every strategy has its centroid at 0 and there is nothing between them.
named_vectors as (

    select
        story_sources.study_name,
        story_sources.language_model_name,
        story_sources.decoding_strategy_name,
        scaled_vectors.prompt_id,
        scaled_vectors.coordinate_frame,
        scaled_vectors.semantic_coordinate,
        scaled_vectors.lexical_coordinate,
        scaled_vectors.syntactic_coordinate

    from scaled_vectors

    inner join story_sources
        on
            scaled_vectors.study_name = story_sources.study_name
            and scaled_vectors.story_source_name = story_sources.story_source_name

    where
        story_sources.language_model_name is not null
        and scaled_vectors.coordinate_frame != 'self_z'

),

strategy_vectors_scaled as (

    select
        study_name,
        language_model_name,
        decoding_strategy_name,
        prompt_id,
        coordinate_frame,
        [semantic_coordinate, lexical_coordinate, syntactic_coordinate] as point

    from named_vectors

    union all

    select
        named_vectors.study_name,
        named_vectors.language_model_name,
        named_vectors.decoding_strategy_name,
        named_vectors.prompt_id,
        'language_model_z' as coordinate_frame,
        [
            {{ z_score(
                'named_vectors.semantic_coordinate', 'language_model_scales.semantic_scale'
            ) }},
            {{ z_score(
                'named_vectors.lexical_coordinate', 'language_model_scales.lexical_scale'
            ) }},
            {{ z_score(
                'named_vectors.syntactic_coordinate', 'language_model_scales.syntactic_scale'
            ) }}
        ] as point

    from named_vectors

    inner join language_model_scales
        on
            named_vectors.study_name = language_model_scales.study_name
            and named_vectors.language_model_name = language_model_scales.language_model_name

    where named_vectors.coordinate_frame = 'raw'

)

select * from strategy_vectors_scaled
