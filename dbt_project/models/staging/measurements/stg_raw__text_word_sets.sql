with

source as (

    select * from {{ source('raw', 'text_word_sets') }}

),

renamed as (

    select
        text_id,
        word_limit,
        words,
        word_count as cut_word_count

    from source

)

select * from renamed
