with

reliability_bins as (

    select * from {{ ref('int_reliability_bins_rolled_up') }}

),

twin_deviations as (

    select * from {{ ref('int_twin_deviations_computed') }}

),

bins_with_twins as (

    select
        reliability_bins.*,
        abs(reliability_bins.hit_count - reliability_bins.confidence_sum) as surplus,
        twin_deviations.absolute_deviation

    from reliability_bins

    inner join twin_deviations
        on
            reliability_bins.scoring_id = twin_deviations.scoring_id
            and reliability_bins.binning = twin_deviations.binning
            and reliability_bins.bin_count = twin_deviations.bin_count
            and reliability_bins.bin_index = twin_deviations.bin_index

    where reliability_bins.token_count > 0

),

-- Lists in the order of bins, so that every sum is taken in one order.
calibration_errors_summed as (

    select
        scoring_id,
        binning,
        bin_count,
        cast(sum(token_count) as bigint) as token_count,
        cast(sum(hit_count) as bigint) as hit_count,
        cast(count(*) as integer) as occupied_bin_count,
        cast(count(*) filter (where token_count = 1) as integer) as singleton_bin_count,
        list_sum(list(confidence_sum order by bin_index)) as confidence_sum,
        list_sum(list(surplus order by bin_index)) as surplus_sum,
        list_sum(list(surplus * surplus / token_count order by bin_index)) as squared_sum,
        list_sum(
            list(
                case
                    when token_count > 1
                        then
                            surplus * surplus / token_count
                            - hit_count * (token_count - hit_count)
                            / (token_count * (token_count - 1))
                    else 0
                end
                order by bin_index
            )
        ) as debiased_sum,
        max(surplus / token_count) as largest_gap,
        list_sum(list(absolute_deviation order by bin_index)) as deviation_sum,
        list_sum(
            list(variance_sum - absolute_deviation * absolute_deviation order by bin_index)
        ) as spread_sum

    from bins_with_twins

    group by 1, 2, 3

)

select * from calibration_errors_summed
