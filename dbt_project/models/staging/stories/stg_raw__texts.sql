with

source as (

    select * from {{ source('raw', 'texts') }}

),

renamed as (

    select
        text_id,
        text as story_text,
        character_count,
        byte_count,
        word_count,
        normalised_md5

    from source

)

select * from renamed
