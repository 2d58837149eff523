with

scaled_vectors as (

    select * from {{ ref('int_diversity_vectors_scaled') }}

),

story_sources as (

    select * from {{ ref('dim_story_sources') }}

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

    -- Standardised where they are decomposed, by the spread of the strategies that enter.
    select
        study_name,
        language_model_name,
        decoding_strategy_name,
        prompt_id,
        'language_model_z' as coordinate_frame,
        [semantic_coordinate, lexical_coordinate, syntactic_coordinate] as point

    from named_vectors

    where coordinate_frame = 'raw'

)

select * from strategy_vectors_scaled
