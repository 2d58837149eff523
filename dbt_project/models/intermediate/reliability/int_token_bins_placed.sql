with

binned_tokens as (

    select * from {{ ref('int_scored_tokens_binned') }}

),

scorings as (

    select * from {{ ref('int_scorings_numbered') }}

),

-- The upper edge of equal-mass bin k is the ceil(k n / B)-th smallest confidence. A token lies
-- above it where at least that many are less confident: its place is a quotient of whole
-- numbers, and equals are never parted.
token_bins_placed as (

    select
        scorings.scoring_id,
        scorings.scoring_index,
        binned_tokens.unit_index,
        binned_tokens.confidence,
        binned_tokens.is_hit,
        binned_tokens.log_probability_nats,
        cast(binned_tokens.fine_bin_index as smallint) as equal_width_bin_index,
        cast(
            (
                rank() over (
                    partition by scorings.scoring_index order by binned_tokens.confidence
                ) - 1
            )
            * {{ var('fine_bin_count') }}
            // count(*) over (partition by scorings.scoring_index)
            as smallint
        ) as equal_mass_bin_index

    from binned_tokens

    inner join scorings
        on binned_tokens.scoring_id = scorings.scoring_id

)

select * from token_bins_placed
