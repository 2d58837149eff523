with

binned_tokens as (

    select * from {{ ref('int_scored_tokens_binned') }}

),

-- The upper edge of equal-mass bin k is the ceil(k n / B)-th smallest confidence. A token lies
-- above it where at least that many are less confident: its place is a quotient of whole
-- numbers, and equals are never parted.
token_bins_placed as (

    select
        scoring_id,
        unit_index,
        confidence,
        is_hit,
        log_probability_nats,
        fine_bin_index as equal_width_bin_index,
        cast(
            (rank() over (partition by scoring_id order by confidence) - 1)
            * {{ var('fine_bin_count') }} // count(*) over (partition by scoring_id)
            as integer
        ) as equal_mass_bin_index

    from binned_tokens

)

select * from token_bins_placed
