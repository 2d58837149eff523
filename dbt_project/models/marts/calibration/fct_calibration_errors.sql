with

calibration_errors as (

    select * from {{ ref('int_calibration_errors_measured') }}

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

fct_calibration_errors as (

    select
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        errors.binning,
        errors.bin_count,
        errors.token_count,
        coalesce(rejects.rejected_count, 0) as rejected_count,
        errors.occupied_bin_count,
        errors.mean_confidence,
        errors.mean_confidence_range.low as mean_confidence_low,
        errors.mean_confidence_range.high as mean_confidence_high,
        errors.accuracy,
        errors.accuracy_range.low as accuracy_low,
        errors.accuracy_range.high as accuracy_high,
        errors.gap,
        errors.gap_range.low as gap_low,
        errors.gap_range.high as gap_high,
        errors.ece_plugin,
        errors.ece_plugin_low,
        errors.ece_plugin_high,
        errors.twin_ece_mean,
        errors.twin_ece_sd,
        errors.ece_z,
        errors.reliability_plugin,
        errors.reliability_debiased,
        errors.reliability_debiased_low,
        errors.reliability_debiased_high,
        errors.singleton_token_share,
        errors.mce,
        log_losses.log_loss_nats,
        errors.log_loss_range.low as log_loss_nats_low,
        errors.log_loss_range.high as log_loss_nats_high,
        log_losses.bits_per_byte,
        log_losses.brier_score,
        errors.resampled_unit_count,
        {{ var('bootstrap_replicate_count') }} as replicate_count,
        {{ var('bootstrap_seed') }} as bootstrap_seed,
        '{{ var("definition_version") }}' as definition_version

    from calibration_errors as errors

    inner join scorings
        on errors.scoring_id = scorings.scoring_id

    inner join log_losses
        on errors.scoring_id = log_losses.scoring_id

    left join rejects
        on
            scorings.ingest_id = rejects.ingest_id
            and scorings.file_name = rejects.file_name

    order by
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        errors.binning,
        errors.bin_count

)

select * from fct_calibration_errors
