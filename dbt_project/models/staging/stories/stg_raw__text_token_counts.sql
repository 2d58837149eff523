with

source as (

    select * from {{ source('raw', 'text_token_counts') }}

),

renamed as (

    select
        text_id,
        tokenizer_name,
        token_count as story_token_count

    from source

)

select * from renamed
