with

source as (

    select * from {{ source('raw', 'text_embeddings') }}

),

renamed as (

    select
        text_id,
        word_limit,
        embedding_model_name,
        max_tokens as embedding_max_tokens,
        embedded_tokens,
        truncated_tokens,
        embedding

    from source

)

select * from renamed
