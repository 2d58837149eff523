with

trained_language_models as (

    select * from {{ source('raw', 'trained_language_models') }}

),

renamed as (

    select
        language_model_id,
        language_model_kind,
        training_sha256,
        training_token_count,
        outcome_count,
        seed,
        discount_factor,
        is_capped,
        trigram_discount,
        bigram_discount,
        unigram_discount,
        penalty,
        squared_weight_norm,
        gradient_norm,
        training_log_loss_nats,
        training_derivative_at_1_nats,
        training_fitted_temperature,
        weights_file_name

    from trained_language_models

)

select * from renamed
