{{ config(materialized='view') }}

with

exact_fits as (

    select * from {{ ref('stg_raw__exact_fits') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

trained_language_models as (

    select * from {{ ref('stg_raw__trained_language_models') }}

),

trained_fits_joined as (

    select
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        trained_language_models.language_model_id,
        trained_language_models.language_model_kind,
        trained_language_models.training_token_count,
        trained_language_models.outcome_count,
        trained_language_models.seed,
        trained_language_models.discount_factor,
        trained_language_models.is_capped,
        trained_language_models.trigram_discount,
        trained_language_models.bigram_discount,
        trained_language_models.unigram_discount,
        trained_language_models.penalty,
        trained_language_models.squared_weight_norm,
        trained_language_models.gradient_norm,
        trained_language_models.training_log_loss_nats,
        trained_language_models.training_derivative_at_1_nats,
        trained_language_models.training_fitted_temperature,
        exact_fits.scoring_id,
        exact_fits.token_group,
        exact_fits.token_count,
        exact_fits.fit_status,
        exact_fits.fitted_temperature,
        exact_fits.log_loss_nats,
        exact_fits.log_loss_at_1_nats,
        exact_fits.log_loss_at_pooled_nats,
        exact_fits.derivative_at_1_nats,
        exact_fits.mean_confidence,
        exact_fits.accuracy,
        exact_fits.temperature_gain_nats,
        exact_fits.unknown_map_gain_nats,
        exact_fits.is_unknown_last,
        exact_fits.row_rank_correlation

    from exact_fits

    inner join scorings
        on exact_fits.scoring_id = scorings.scoring_id

    inner join trained_language_models
        on scorings.language_model_id = trained_language_models.language_model_id

)

select * from trained_fits_joined
