with

test_set_texts as (

    select * from {{ source('raw', 'test_set_texts') }}

),

ingests as (

    select * from {{ source('raw', 'ingests') }}

),

renamed as (

    select
        test_set_texts.study_name,
        test_set_texts.test_set_name,
        test_set_texts.document_id,
        test_set_texts.text_id,
        test_set_texts.context_text_id,
        test_set_texts.file_name,
        test_set_texts.line_number,
        test_set_texts.ingest_id

    from test_set_texts

    inner join ingests
        on test_set_texts.ingest_id = ingests.ingest_id

    where ingests.status = 'done'

)

select * from renamed
