with

source as (

    select * from {{ source('raw', 'rejects') }}

),

renamed as (

    select
        reject_id,
        study_name,
        reject_kind,
        reason,
        detail,
        prompt_id,
        story_id,
        file_name,
        line_number,
        ingest_id,
        selection_id

    from source

)

select * from renamed
