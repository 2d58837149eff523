with

reliability_bins as (

    select * from {{ ref('int_reliability_bins_rolled_up') }}

),

binned_tokens as (

    select * from {{ ref('int_scored_tokens_binned') }}

),

-- Only bins with few tokens need the tokens themselves, and only the fine bins inside them.
fine_bins_of_small_bins as (

    select
        scoring_id,
        bin_count,
        bin_index,
        unnest(
            range(
                bin_index * {{ var('fine_bin_count') }} // bin_count,
                (bin_index + 1) * {{ var('fine_bin_count') }} // bin_count
            )
        ) as fine_bin_index

    from reliability_bins

    where token_count between 1 and {{ var('exact_twin_tokens') }} - 1

),

exact_deviations as (

    select
        fine_bins_of_small_bins.scoring_id,
        fine_bins_of_small_bins.bin_count,
        fine_bins_of_small_bins.bin_index,
        poisson_binomial_deviation(
            list(
                binned_tokens.confidence
                order by binned_tokens.document_index, binned_tokens.token_index
            )
        ) as absolute_deviation

    from fine_bins_of_small_bins

    inner join binned_tokens
        on
            fine_bins_of_small_bins.scoring_id = binned_tokens.scoring_id
            and fine_bins_of_small_bins.fine_bin_index = binned_tokens.fine_bin_index

    group by 1, 2, 3

),

twin_deviations_computed as (

    select
        reliability_bins.scoring_id,
        reliability_bins.bin_count,
        reliability_bins.bin_index,
        coalesce(
            exact_deviations.absolute_deviation, sqrt(2 * reliability_bins.variance_sum / pi())
        ) as absolute_deviation

    from reliability_bins

    left join exact_deviations
        on
            reliability_bins.scoring_id = exact_deviations.scoring_id
            and reliability_bins.bin_count = exact_deviations.bin_count
            and reliability_bins.bin_index = exact_deviations.bin_index

)

select * from twin_deviations_computed
