with

calibration_errors as (

    select * from {{ ref('int_calibration_errors_summed') }}

),

log_losses as (

    select * from {{ ref('int_log_losses_summed') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

rejects as (

    select
        ingest_id,
        file_name,
        cast(count(*) as bigint) as rejected_count

    from {{ ref('stg_raw__rejects') }}

    where reject_kind = 'token'

    group by 1, 2

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

fct_calibration_errors as (

    select
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        errors_with_twins.binning,
        errors_with_twins.bin_count,
        errors_with_twins.token_count,
        coalesce(rejects.rejected_count, 0) as rejected_count,
        errors_with_twins.occupied_bin_count,
        errors_with_twins.mean_confidence,
        errors_with_twins.accuracy,
        errors_with_twins.accuracy - errors_with_twins.mean_confidence as gap,
        errors_with_twins.ece_plugin,
        errors_with_twins.twin_ece_mean,
        errors_with_twins.twin_ece_sd,
        case
            when errors_with_twins.twin_ece_sd > 0
                then
                    (errors_with_twins.ece_plugin - errors_with_twins.twin_ece_mean)
                    / errors_with_twins.twin_ece_sd
        end as ece_z,
        errors_with_twins.reliability_plugin,
        errors_with_twins.reliability_debiased,
        errors_with_twins.singleton_token_share,
        errors_with_twins.mce,
        log_losses.log_loss_nats,
        log_losses.bits_per_byte,
        log_losses.brier_score,
        '{{ var("definition_version") }}' as definition_version

    from errors_with_twins

    inner join scorings
        on errors_with_twins.scoring_id = scorings.scoring_id

    inner join log_losses
        on errors_with_twins.scoring_id = log_losses.scoring_id

    left join rejects
        on
            scorings.ingest_id = rejects.ingest_id
            and scorings.file_name = rejects.file_name

    order by
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        errors_with_twins.binning,
        errors_with_twins.bin_count

)

select * from fct_calibration_errors
