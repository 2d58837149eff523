with

fine_bins as (

    select * from {{ ref('int_tempered_fine_bins_counted') }}

),

bin_counts as (

    select unnest({{ var('curve_bin_counts') }}) as bin_count

),

tempered_bins_counted as (

    select
        fine_bins.scoring_id,
        fine_bins.applied_temperature,
        cast(bin_counts.bin_count as integer) as bin_count,
        cast(
            fine_bins.fine_bin_index * bin_counts.bin_count // {{ var('fine_bin_count') }}
            as integer
        ) as bin_index,
        cast(sum(fine_bins.token_count) as bigint) as token_count,
        cast(sum(fine_bins.hit_count) as bigint) as hit_count,
        {{ from_units('sum(fine_bins.confidence_units)') }} as confidence_sum,
        {{ from_units('sum(fine_bins.variance_units)') }} as variance_sum,
        case
            when sum(fine_bins.token_count) < {{ var('exact_twin_tokens') }}
                then
                    poisson_binomial_deviation(
                        flatten(
                            list(fine_bins.confidences order by fine_bins.fine_bin_index)
                        )
                    )
        end as exact_deviation

    from fine_bins

    cross join bin_counts

    group by 1, 2, 3, 4

)

select * from tempered_bins_counted
