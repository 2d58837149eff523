with

all_fits as (

    select * from {{ ref('int_temperature_fits_listed') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

fct_temperature_fits as (

    select
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        all_fits.token_group,
        all_fits.class_name,
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
        all_fits.class_name,
        all_fits.fold_name

)

select * from fct_temperature_fits
