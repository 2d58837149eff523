with

calibration_errors as (

    select * from {{ ref('int_calibration_errors_summed') }}

),

error_ranges as (

    select * from {{ ref('int_calibration_errors_bootstrapped') }}

),

mean_ranges as (

    select * from {{ ref('int_means_bootstrapped') }}

),

errors_with_twins as (

    select
        scoring_id,
        binning,
        bin_count,
        token_count,
        occupied_bin_count,
        confidence_sum / token_count as mean_confidence,
        hit_count / token_count as accuracy,
        surplus_sum / token_count as ece_plugin,
        deviation_sum / token_count as twin_ece_mean,
        -- Rounding may leave -1e-17 of a spread of 0.
        sqrt(greatest(spread_sum, 0)) / token_count as twin_ece_sd,
        squared_sum / token_count as reliability_plugin,
        debiased_sum / token_count as reliability_debiased,
        singleton_bin_count / token_count as singleton_token_share,
        largest_gap as mce

    from calibration_errors

),

calibration_errors_measured as (

    select
        errors_with_twins.scoring_id,
        errors_with_twins.binning,
        errors_with_twins.bin_count,
        errors_with_twins.token_count,
        errors_with_twins.occupied_bin_count,
        errors_with_twins.mean_confidence,
        errors_with_twins.accuracy,
        errors_with_twins.ece_plugin,
        errors_with_twins.twin_ece_mean,
        errors_with_twins.twin_ece_sd,
        errors_with_twins.reliability_plugin,
        errors_with_twins.reliability_debiased,
        errors_with_twins.singleton_token_share,
        errors_with_twins.mce,
        error_ranges.ece_plugin_low,
        error_ranges.ece_plugin_high,
        error_ranges.reliability_debiased_low,
        error_ranges.reliability_debiased_high,
        mean_ranges.resampled_unit_count,
        mean_ranges.mean_confidence_range,
        mean_ranges.accuracy_range,
        mean_ranges.gap_range,
        mean_ranges.log_loss_range,
        errors_with_twins.accuracy - errors_with_twins.mean_confidence as gap,
        case
            when errors_with_twins.twin_ece_sd > 0
                then
                    (errors_with_twins.ece_plugin - errors_with_twins.twin_ece_mean)
                    / errors_with_twins.twin_ece_sd
        end as ece_z

    from errors_with_twins

    inner join error_ranges
        on
            errors_with_twins.scoring_id = error_ranges.scoring_id
            and errors_with_twins.binning = error_ranges.binning
            and errors_with_twins.bin_count = error_ranges.bin_count

    inner join mean_ranges
        on errors_with_twins.scoring_id = mean_ranges.scoring_id

)

select * from calibration_errors_measured
