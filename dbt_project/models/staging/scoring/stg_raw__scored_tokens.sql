with

scored_tokens as (

    select * from {{ source('raw', 'scored_tokens') }}

),

renamed as (

    select
        scoring_id,
        document_id,
        token_index,
        sentence_index,
        position,
        context_token_count,
        token_id,
        top_token_id,
        outcome_label,
        top_label,
        confidence,
        is_hit,
        log_probability_nats,
        entropy_nats,
        rank,
        mass_ahead,
        kept_mass,
        prediction_set_size,
        byte_count,
        is_unknown,
        is_across_join,
        temperature_sketch,
        mass_ahead_sketch

    from scored_tokens

)

select * from renamed
