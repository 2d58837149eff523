with

binned_tokens as (

    select * from {{ ref('int_scored_tokens_binned') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

fct_scored_tokens as (

    select
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        binned_tokens.document_index,
        binned_tokens.token_index,
        binned_tokens.sentence_index,
        binned_tokens.position,
        binned_tokens.context_token_count,
        binned_tokens.outcome_label,
        binned_tokens.top_label,
        binned_tokens.confidence,
        binned_tokens.is_hit,
        binned_tokens.log_probability_nats,
        binned_tokens.entropy_nats,
        binned_tokens.rank,
        binned_tokens.mass_ahead,
        binned_tokens.kept_mass,
        binned_tokens.prediction_set_size,
        binned_tokens.byte_count,
        binned_tokens.is_unknown,
        binned_tokens.is_across_join,
        binned_tokens.temperature_sketch,
        binned_tokens.mass_ahead_sketch

    from binned_tokens

    inner join scorings
        on binned_tokens.scoring_id = scorings.scoring_id

    order by
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        binned_tokens.document_index,
        binned_tokens.token_index

)

select * from fct_scored_tokens
