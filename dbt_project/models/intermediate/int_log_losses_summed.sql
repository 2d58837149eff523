with

binned_tokens as (

    select * from {{ ref('int_scored_tokens_binned') }}

),

-- In fixed point, units of 2^-40 nats; NULL where a token has no log-probability.
log_losses_summed as (

    select
        scoring_id,
        case
            when count(log_probability_nats) = count(*)
                then
                    cast(
                        -sum(cast(round(log_probability_nats * 1099511627776) as bigint)) as double
                    )
                    / 1099511627776 / count(*)
        end as log_loss_nats

    from binned_tokens

    group by 1

)

select * from log_losses_summed
