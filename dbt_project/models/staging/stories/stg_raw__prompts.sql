with

prompts as (

    select * from {{ source('raw', 'prompts') }}

),

ingests as (

    select * from {{ source('raw', 'ingests') }}

),

-- Rows count once the ingest that brought them is done: a killed one leaves no half of a file.
renamed as (

    select
        prompts.study_name,
        prompts.prompt_id,
        prompts.source_prompt_id,
        prompts.prompt_text,
        prompts.character_count as prompt_character_count,
        prompts.ingest_id

    from prompts

    inner join ingests
        on prompts.ingest_id = ingests.ingest_id

    where ingests.status = 'done'

)

select * from renamed
