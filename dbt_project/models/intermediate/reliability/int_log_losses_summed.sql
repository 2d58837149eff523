{% set token_brier_score -%}
    (sum_of_squares_at(1.0, temperature_sketch) - 2 * exp(log_probability_nats) + 1)
{%- endset %}

with

binned_tokens as (

    select * from {{ ref('int_scored_tokens_binned') }}

),

-- In fixed point, units of 2^-40; NULL where a token lacks what is summed.
sums as (

    select
        scoring_id,
        count(*) as token_count,
        count(distinct document_id) as document_count,
        count(log_probability_nats) = count(*) as has_log_probabilities,
        count(temperature_sketch) = count(*) as has_sketches,
        case
            when count(log_probability_nats) = count(*)
                then
                    {{ exact_sum('-log_probability_nats', 40) }} / count(*)
        end as log_loss_nats,
        cast(sum(byte_count) as bigint) as byte_count,
        case
            when count(temperature_sketch) = count(*)
                then
                    {{ exact_sum(token_brier_score, 40) }} / count(*)
        end as brier_score,
        {{ exact_sum('pow(confidence - cast(is_hit as integer), 2)', 40) }} / count(*)
            as top_label_brier_score

    from binned_tokens

    group by 1

),

log_losses_summed as (

    select
        *,
        log_loss_nats * token_count / (byte_count * ln(2)) as bits_per_byte

    from sums

)

select * from log_losses_summed
