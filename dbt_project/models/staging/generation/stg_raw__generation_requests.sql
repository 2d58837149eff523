with

generation_requests as (

    select * from {{ source('raw', 'generation_requests') }}

),

ingests as (

    select * from {{ source('raw', 'ingests') }}

),

-- A story source that is now written in another way no longer asks in the old one.
renamed as (

    select
        generation_requests.ingest_id,
        generation_requests.prompt_id,
        generation_requests.study_name,
        generation_requests.story_source_name,
        generation_requests.samples_per_prompt

    from generation_requests

    inner join ingests
        on generation_requests.ingest_id = ingests.ingest_id

    where ingests.status = 'done'

)

select * from renamed
