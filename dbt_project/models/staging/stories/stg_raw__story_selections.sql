with

source as (

    select * from {{ source('raw', 'story_selections') }}

),

renamed as (

    select
        selection_id,
        story_id,
        study_name,
        prompt_id,
        prompt_rank,
        draw_index,
        story_token_count,
        prompt_length_sd as story_length_sd_tokens

    from source

)

select * from renamed
