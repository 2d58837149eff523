with

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

trained_language_models as (

    select * from {{ ref('stg_raw__trained_language_models') }}

),

dim_trained_language_models as (

    select
        scorings.study_name,
        scorings.language_model_name,
        trained_language_models.language_model_id,
        trained_language_models.language_model_kind,
        trained_language_models.training_token_count,
        trained_language_models.outcome_count,
        trained_language_models.seed,
        trained_language_models.discount_factor,
        trained_language_models.penalty,
        trained_language_models.gradient_norm,
        trained_language_models.training_log_loss_nats,
        trained_language_models.training_derivative_at_1_nats,
        trained_language_models.training_fitted_temperature,
        trained_language_models.training_sha256,
        trained_language_models.weights_file_name,
        cast(count(*) as integer) as test_set_count

    from scorings

    inner join trained_language_models
        on scorings.language_model_id = trained_language_models.language_model_id

    group by all

    order by
        scorings.study_name,
        scorings.language_model_name,
        trained_language_models.language_model_id

)

select * from dim_trained_language_models
