with

source as (

    select * from {{ source('raw', 'text_pos_bigrams') }}

),

renamed as (

    select
        text_id,
        word_limit,
        tagging_model_name,
        max_characters as tagging_max_characters,
        pos_bigrams,
        tagged_characters,
        truncated_characters

    from source

)

select * from renamed
