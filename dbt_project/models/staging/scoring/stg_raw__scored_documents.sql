with

source as (

    select * from {{ source('raw', 'scored_documents') }}

),

renamed as (

    select
        scoring_id,
        document_id,
        document_index,
        text_id,
        token_count,
        rejected_count

    from source

    where document_index is not null

)

select * from renamed
