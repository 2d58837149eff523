with

reliability_bins as (

    select * from {{ ref('int_reliability_bins_rolled_up') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

-- The first bin of equal mass is never empty, and an empty one ends where the one before it does.
bins_with_edges as (

    select
        *,
        case
            when bin_index = bin_count - 1 then 1
            when binning = 'equal_width' then (bin_index + 1) / bin_count
            else
                max(highest_confidence) over (
                    partition by scoring_id, binning, bin_count
                    order by bin_index
                    rows between unbounded preceding and current row
                )
        end as upper_edge

    from reliability_bins

),

fct_reliability_bins as (

    select
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        bins.binning,
        bins.bin_count,
        bins.bin_index,
        coalesce(
            lag(bins.upper_edge) over (
                partition by bins.scoring_id, bins.binning, bins.bin_count
                order by bins.bin_index
            ),
            0
        ) as lower_edge,
        bins.upper_edge,
        bins.token_count,
        bins.hit_count,
        bins.confidence_sum,
        bins.variance_sum,
        case
            when bins.token_count > 0
                then bins.confidence_sum / bins.token_count
        end as mean_confidence,
        case
            when bins.token_count > 0
                then bins.hit_count / bins.token_count
        end as accuracy,
        case
            when bins.token_count > 0
                then
                    (bins.hit_count - bins.confidence_sum)
                    / bins.token_count
        end as gap,
        '{{ var("definition_version") }}' as definition_version

    from bins_with_edges as bins

    inner join scorings
        on bins.scoring_id = scorings.scoring_id

    order by
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        bins.binning,
        bins.bin_count,
        bins.bin_index

)

select * from fct_reliability_bins
