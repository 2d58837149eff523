with

fits as (

    select * from {{ ref('int_temperatures_fitted') }}

),

gains as (

    select * from {{ ref('int_temperature_gains_crossed') }}

),

temperature_ranges as (

    select * from {{ ref('int_temperatures_bootstrapped') }}

),

log_losses as (

    select * from {{ ref('int_log_losses_summed') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

all_fits as (

    select
        fits.scoring_id,
        fits.token_group,
        fits.fold_name,
        fits.token_count,
        fits.fit.status as fit_status,
        fits.fit.fitted_temperature,
        temperature_ranges.temperature_range.low as fitted_temperature_low,
        temperature_ranges.temperature_range.high as fitted_temperature_high,
        temperature_ranges.temperature_range.replicate_count as defined_replicate_count,
        fits.fit.log_loss_nats,
        fits.fit.log_loss_at_1_nats,
        fits.fit.gradient,
        fits.fit.curvature,
        fits.fit.iteration_count,
        case when fits.fold_name = 'all' then gains.temperature_gain_nats end
            as temperature_gain_nats

    from fits

    left join gains
        on fits.scoring_id = gains.scoring_id and fits.token_group = gains.token_group

    left join temperature_ranges
        on
            fits.scoring_id = temperature_ranges.scoring_id
            and fits.token_group = temperature_ranges.token_group
            and fits.fold_name = 'all'

    union all by name

    select
        scoring_id,
        'all' as token_group,
        'all' as fold_name,
        token_count,
        'no_sketch' as fit_status

    from log_losses

    where not has_sketches

),

fct_temperature_fits as (

    select
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        all_fits.token_group,
        all_fits.fold_name,
        all_fits.token_count,
        all_fits.fit_status,
        all_fits.fitted_temperature,
        all_fits.fitted_temperature_low,
        all_fits.fitted_temperature_high,
        all_fits.defined_replicate_count,
        all_fits.log_loss_nats,
        all_fits.log_loss_at_1_nats,
        all_fits.gradient,
        all_fits.curvature,
        all_fits.iteration_count,
        all_fits.temperature_gain_nats,
        {{ var('bootstrap_replicate_count') }} as replicate_count,
        {{ var('bootstrap_seed') }} as bootstrap_seed,
        '{{ var("definition_version") }}' as definition_version

    from all_fits

    inner join scorings
        on all_fits.scoring_id = scorings.scoring_id

    order by
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        all_fits.token_group,
        all_fits.fold_name

)

select * from fct_temperature_fits
