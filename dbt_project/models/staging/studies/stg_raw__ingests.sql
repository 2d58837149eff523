with

source as (

    select * from {{ source('raw', 'ingests') }}

),

renamed as (

    select
        ingest_id,
        study_name,
        ingest_kind,
        file_name,
        content_sha256,
        options_json,
        status as ingest_status,
        row_count,
        started_at,
        finished_at

    from source

)

select * from renamed
