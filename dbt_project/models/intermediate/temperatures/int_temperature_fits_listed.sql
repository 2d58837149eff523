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

temperature_fits_listed as (

    select
        fits.scoring_id,
        fits.token_group,
        fits.class_name,
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
        gains.temperature_gain_nats

    from fits

    left join gains
        on
            fits.scoring_id = gains.scoring_id
            and fits.token_group = gains.token_group
            and fits.class_name = gains.class_name
            and fits.fold_name = 'all'

    left join temperature_ranges
        on
            fits.scoring_id = temperature_ranges.scoring_id
            and fits.token_group = temperature_ranges.token_group
            and fits.class_name = temperature_ranges.class_name
            and fits.fold_name = 'all'

    union all by name

    select
        scoring_id,
        'all' as token_group,
        'all' as class_name,
        'all' as fold_name,
        token_count,
        'no_sketch' as fit_status

    from log_losses

    where not has_sketches

)

select * from temperature_fits_listed
