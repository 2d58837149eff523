with

fine_bins as (

    select * from {{ ref('int_fine_bins_counted') }}

),

bin_counts as (

    select unnest({{ var('bin_counts') }}) as bin_count

),

occupied_bins as (

    select
        fine_bins.scoring_id,
        fine_bins.binning,
        bin_counts.bin_count,
        fine_bins.fine_bin_index * bin_counts.bin_count // {{ var('fine_bin_count') }} as bin_index,
        sum(fine_bins.token_count) as token_count,
        sum(fine_bins.hit_count) as hit_count,
        sum(fine_bins.confidence_units) as confidence_units,
        sum(fine_bins.variance_units) as variance_units,
        max(fine_bins.highest_confidence) as highest_confidence

    from fine_bins

    cross join bin_counts

    group by 1, 2, 3, 4

),

scorings as (

    select distinct
        scoring_id,
        binning

    from fine_bins

),

all_bins as (

    select
        scorings.scoring_id,
        scorings.binning,
        bin_counts.bin_count,
        unnest(range(bin_counts.bin_count)) as bin_index

    from scorings

    cross join bin_counts

),

reliability_bins_rolled_up as (

    select
        all_bins.scoring_id,
        all_bins.binning,
        cast(all_bins.bin_count as integer) as bin_count,
        cast(all_bins.bin_index as integer) as bin_index,
        cast(coalesce(occupied_bins.token_count, 0) as bigint) as token_count,
        cast(coalesce(occupied_bins.hit_count, 0) as bigint) as hit_count,
        {{ from_units('coalesce(occupied_bins.confidence_units, 0)') }}
            as confidence_sum,
        {{ from_units('coalesce(occupied_bins.variance_units, 0)') }}
            as variance_sum,
        occupied_bins.highest_confidence

    from all_bins

    left join occupied_bins
        on
            all_bins.scoring_id = occupied_bins.scoring_id
            and all_bins.binning = occupied_bins.binning
            and all_bins.bin_count = occupied_bins.bin_count
            and all_bins.bin_index = occupied_bins.bin_index

)

select * from reliability_bins_rolled_up
