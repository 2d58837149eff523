with

binned_tokens as (

    select * from {{ ref('int_scored_tokens_binned') }}

),

-- In fixed point, units of 2^-48: sums of whole numbers do not depend on the order of threads.
fine_bins_counted as (

    select
        scoring_id,
        fine_bin_index,
        count(*) as token_count,
        count(*) filter (where is_hit) as hit_count,
        sum(cast(round(confidence * 281474976710656) as bigint)) as confidence_units,
        sum(cast(round(confidence * (1 - confidence) * 281474976710656) as bigint))
            as variance_units

    from binned_tokens

    group by 1, 2

)

select * from fine_bins_counted
