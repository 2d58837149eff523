with

diversity_vectors as (

    select * from {{ source('raw', 'diversity_vectors') }}

),

ingests as (

    select * from {{ source('raw', 'ingests') }}

),

-- Rows count once the ingest that brought them is done: a killed one leaves no half of a file.
renamed as (

    select
        diversity_vectors.study_name,
        diversity_vectors.prompt_id,
        diversity_vectors.story_source_name,
        diversity_vectors.semantic_diversity,
        diversity_vectors.lexical_diversity,
        diversity_vectors.syntactic_diversity,
        diversity_vectors.story_kind,
        diversity_vectors.language_model_name,
        diversity_vectors.decoding_strategy_name,
        diversity_vectors.sampling_temperature,
        diversity_vectors.story_count,
        diversity_vectors.file_name,
        diversity_vectors.line_number,
        diversity_vectors.ingest_id

    from diversity_vectors

    inner join ingests
        on diversity_vectors.ingest_id = ingests.ingest_id

    where ingests.status = 'done'

)

select * from renamed
