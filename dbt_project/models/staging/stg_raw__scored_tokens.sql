with

scored_tokens as (

    select * from {{ source('raw', 'scored_tokens') }}

),

renamed as (

    select
        scoring_id,
        token_index,
        outcome_label,
        top_label,
        confidence,
        is_hit,
        log_probability_nats,
        entropy_nats,
        rank,
        mass_ahead,
        temperature_sketch,
        mass_ahead_sketch

    from scored_tokens

)

select * from renamed
