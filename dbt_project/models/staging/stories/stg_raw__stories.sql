with

stories as (

    select * from {{ source('raw', 'stories') }}

),

ingests as (

    select * from {{ source('raw', 'ingests') }}

),

-- Rows count once the ingest that brought them is done: a killed one leaves no half of a file.
renamed as (

    select
        stories.study_name,
        stories.story_id,
        stories.prompt_id,
        stories.text_id,
        stories.story_kind,
        stories.story_source_name,
        stories.language_model_name,
        stories.language_model_revision,
        stories.quantization,
        stories.decoding_strategy_name,
        stories.sampling_temperature,
        stories.template_name,
        stories.sample_index,
        stories.seed,
        stories.status as story_status,
        stories.stop_reason,
        stories.prompt_token_count,
        stories.story_token_count as generated_token_count,
        stories.wall_seconds as generation_wall_seconds,
        stories.file_name,
        stories.line_number,
        stories.ingest_id,
        stories.language_model_id,
        stories.decoding_strategy_id,
        stories.maximum_story_tokens,
        stories.batch_row_count,
        stories.padded_token_count,
        stories.failure

    from stories

    inner join ingests
        on stories.ingest_id = ingests.ingest_id

    where ingests.status = 'done'

)

select * from renamed
