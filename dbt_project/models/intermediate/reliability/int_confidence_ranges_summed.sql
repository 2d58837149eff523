{{ config(materialized='view') }}

with

binned_tokens as (

    select
        *,
        confidence > 1.0 / 3 and confidence <= 0.6 as is_third_to_0_6,
        confidence > 2.0 / 3 as is_above_two_thirds

    from {{ ref('int_scored_tokens_binned') }}

),

-- The ranges that CLM prints, in fixed point.
confidence_ranges_summed as (

    select
        scoring_id,
        count(*) filter (where is_third_to_0_6) as token_count_third_to_0_6,
        (
            count(*) filter (where is_third_to_0_6 and is_hit)
            - {{ exact_sum('confidence', condition='is_third_to_0_6') }}
        )
        / nullif(count(*) filter (where is_third_to_0_6), 0) as gap_third_to_0_6,
        count(*) filter (where is_above_two_thirds) as token_count_above_two_thirds,
        (
            count(*) filter (where is_above_two_thirds and is_hit)
            - {{ exact_sum('confidence', condition='is_above_two_thirds') }}
        )
        / nullif(count(*) filter (where is_above_two_thirds), 0) as gap_above_two_thirds

    from binned_tokens

    group by 1

)

select * from confidence_ranges_summed
