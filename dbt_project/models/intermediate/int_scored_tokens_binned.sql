{{ config(materialized='view') }}

with

scored_tokens as (

    select * from {{ ref('stg_raw__scored_tokens') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

scored_tokens_binned as (

    select
        scored_tokens.scoring_id,
        scored_tokens.token_index,
        scored_tokens.confidence,
        scored_tokens.is_hit,
        scored_tokens.log_probability_nats,
        {{ bin_index('scored_tokens.confidence', var('fine_bin_count')) }} as fine_bin_index

    from scored_tokens

    inner join scorings
        on scored_tokens.scoring_id = scorings.scoring_id

)

select * from scored_tokens_binned
