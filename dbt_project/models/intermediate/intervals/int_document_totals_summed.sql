{{ config(materialized='view') }}

with

placed_tokens as (

    select * from {{ ref('int_token_bins_placed') }}

),

-- In fixed point, units of 2^-48 and 2^-40; NULL where a token lacks what is summed.
document_totals_summed as (

    select
        scoring_id,
        unit_index,
        cast(count(*) as double) as token_count,
        cast(count(*) filter (where is_hit) as double) as hit_count,
        {{ exact_sum('confidence') }} as confidence_sum,
        case
            when count(log_probability_nats) = count(*)
                then
                    {{ exact_sum('-log_probability_nats', 40) }}
        end as log_loss_sum

    from placed_tokens

    group by 1, 2

)

select * from document_totals_summed
