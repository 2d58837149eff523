with

exact_fits as (

    select * from {{ source('raw', 'exact_fits') }}

),

renamed as (

    select
        scoring_id,
        token_group,
        token_count,
        fit_status,
        fitted_temperature,
        log_loss_nats,
        log_loss_at_1_nats,
        log_loss_at_pooled_nats,
        derivative_at_1_nats,
        mean_confidence,
        accuracy,
        temperature_gain_nats,
        unknown_map_gain_nats,
        is_unknown_last,
        row_rank_correlation

    from exact_fits

)

select * from renamed
