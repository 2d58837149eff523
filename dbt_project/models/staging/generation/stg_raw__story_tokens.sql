with

source as (

    select * from {{ source('raw', 'story_tokens') }}

),

renamed as (

    select
        story_id,
        token_ids,
        confidences,
        log_probabilities_nats,
        sampling_confidences,
        sampling_log_probabilities_nats

    from source

)

select * from renamed
