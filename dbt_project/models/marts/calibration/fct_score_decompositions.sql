with

log_losses as (

    select * from {{ ref('int_log_losses_summed') }}

),

gains as (

    select * from {{ ref('int_temperature_gains_crossed') }}

    where token_group = 'all'

),

calibration_errors as (

    select * from {{ ref('int_calibration_errors_summed') }}

    where binning = 'equal_width' and bin_count = {{ var('curve_bin_count') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

scores as (

    select
        log_losses.scoring_id,
        'top_label_brier' as score_name,
        log_losses.token_count,
        log_losses.top_label_brier_score as score,
        calibration_errors.debiased_sum / calibration_errors.token_count as estimated_reliability,
        cast(null as double) as reliability_lower_bound,
        'estimated' as decomposition_status

    from log_losses

    inner join calibration_errors
        on log_losses.scoring_id = calibration_errors.scoring_id

    union all

    select
        scoring_id,
        'brier' as score_name,
        token_count,
        brier_score as score,
        cast(null as double) as estimated_reliability,
        cast(null as double) as reliability_lower_bound,
        case when brier_score is null then 'no_sketch' else 'score_only' end
            as decomposition_status

    from log_losses

    union all

    select
        log_losses.scoring_id,
        'log' as score_name,
        log_losses.token_count,
        log_losses.log_loss_nats as score,
        cast(null as double) as estimated_reliability,
        gains.temperature_gain_nats as reliability_lower_bound,
        case
            when gains.temperature_gain_nats is not null then 'lower_bound'
            when not log_losses.has_sketches then 'no_sketch'
            else 'no_fitted_temperature'
        end as decomposition_status

    from log_losses

    left join gains
        on log_losses.scoring_id = gains.scoring_id

),

fct_score_decompositions as (

    select
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        scores.score_name,
        scores.decomposition_status,
        scores.token_count,
        scores.score,
        scores.estimated_reliability,
        scores.score - scores.estimated_reliability as estimated_remainder,
        scores.reliability_lower_bound,
        '{{ var("definition_version") }}' as definition_version

    from scores

    inner join scorings
        on scores.scoring_id = scorings.scoring_id

    order by
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        scores.score_name

)

select * from fct_score_decompositions
