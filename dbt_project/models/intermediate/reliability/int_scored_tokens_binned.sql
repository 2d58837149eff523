{{ config(materialized='view') }}

with

scored_tokens as (

    select * from {{ ref('stg_raw__scored_tokens') }}

),

scored_documents as (

    select * from {{ ref('stg_raw__scored_documents') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

-- Imported forecasts stand in no document, and each is a unit of its own.
scored_tokens_binned as (

    select
        scored_tokens.scoring_id,
        scored_tokens.document_id,
        scored_tokens.token_index,
        scored_tokens.sentence_index,
        scored_tokens.position,
        scored_tokens.context_token_count,
        scored_tokens.token_id,
        scored_tokens.top_token_id,
        scored_tokens.outcome_label,
        scored_tokens.top_label,
        scored_tokens.confidence,
        scored_tokens.is_hit,
        scored_tokens.log_probability_nats,
        scored_tokens.entropy_nats,
        scored_tokens.rank,
        scored_tokens.mass_ahead,
        scored_tokens.kept_mass,
        scored_tokens.prediction_set_size,
        scored_tokens.byte_count,
        scored_tokens.is_unknown,
        scored_tokens.is_across_join,
        scored_tokens.temperature_sketch,
        scored_tokens.mass_ahead_sketch,
        coalesce(scored_documents.document_index, 0) as document_index,
        coalesce(scored_documents.document_index, scored_tokens.token_index) as unit_index,
        coalesce(scored_tokens.sentence_index, scored_tokens.token_index) % 2 as fold_index,
        {{ bin_index('scored_tokens.confidence', var('fine_bin_count')) }} as fine_bin_index

    from scored_tokens

    inner join scorings
        on scored_tokens.scoring_id = scorings.scoring_id

    left join scored_documents
        on
            scored_tokens.scoring_id = scored_documents.scoring_id
            and scored_tokens.document_id = scored_documents.document_id

    where scorings.is_imported or scored_documents.document_id is not null

)

select * from scored_tokens_binned
