with

trained_fits as (

    select * from {{ ref('int_trained_fits_joined') }}

),

-- Every test set of a language model brings the same training row: distinct leaves one.
fct_penalty_fits as (

    select distinct
        study_name,
        language_model_name,
        unnest(['training', test_set_name]) as text_set_name,
        penalty,
        penalty * squared_weight_norm as penalty_times_squared_norm,
        gradient_norm,
        unnest([cast(training_token_count as bigint), token_count]) as token_count,
        unnest([training_derivative_at_1_nats, derivative_at_1_nats]) as derivative_at_1_nats,
        unnest([training_log_loss_nats, log_loss_at_1_nats]) as log_loss_at_1_nats,
        unnest([training_fitted_temperature, fitted_temperature]) as fitted_temperature,
        '{{ var("definition_version") }}' as definition_version

    from trained_fits

    where
        language_model_kind = 'loglinear_bigram'
        and token_group = 'all'

    order by
        study_name,
        penalty,
        text_set_name

)

select * from fct_penalty_fits
