with

document_bins as (

    select * from {{ ref('int_document_bins_counted') }}

),

error_ranges as (

    select
        scoring_id,
        binning,
        unnest(
            bootstrap_calibration_errors(
                list(unit_index order by unit_index, fine_bin_index),
                list(fine_bin_index order by unit_index, fine_bin_index),
                list(cast(token_count as double) order by unit_index, fine_bin_index),
                list(cast(hit_count as double) order by unit_index, fine_bin_index),
                list(confidence_sum order by unit_index, fine_bin_index),
                {{ var('bin_counts') }},
                {{ var('bootstrap_replicate_count') }},
                {{ var('bootstrap_seed') }}
            )
        ) as error_range

    from document_bins

    group by 1, 2

),

calibration_errors_bootstrapped as (

    select
        error_ranges.scoring_id,
        error_ranges.binning,
        error_ranges.error_range.bin_count,
        error_ranges.error_range.ece_plugin_low,
        error_ranges.error_range.ece_plugin_high,
        error_ranges.error_range.reliability_debiased_low,
        error_ranges.error_range.reliability_debiased_high

    from error_ranges

)

select * from calibration_errors_bootstrapped
