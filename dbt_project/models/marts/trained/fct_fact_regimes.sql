with

trained_fits as (

    select * from {{ ref('int_trained_fits_joined') }}

),

fct_fact_regimes as (

    select
        study_name,
        test_set_name,
        language_model_name,
        token_group as regime,
        token_count as probe_count,
        mean_confidence,
        accuracy,
        accuracy - mean_confidence as gap,
        fit_status,
        fitted_temperature,
        log_loss_at_1_nats,
        log_loss_at_pooled_nats,
        log_loss_nats,
        '{{ var("definition_version") }}' as definition_version

    from trained_fits

    where language_model_kind = 'fact_model'

    order by
        study_name,
        test_set_name,
        language_model_name,
        regime

)

select * from fct_fact_regimes
