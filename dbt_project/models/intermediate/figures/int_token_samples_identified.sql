with

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

scored_documents as (

    select * from {{ ref('stg_raw__scored_documents') }}

),

log_losses as (

    select * from {{ ref('int_log_losses_summed') }}

),

document_lists as (

    select
        scoring_id,
        list(document_id order by document_id) as document_ids,
        list(token_count order by document_id) as token_counts

    from scored_documents

    group by 1

),

-- Imported forecasts stand in no document: theirs is known by its size alone.
token_samples_identified as (

    select
        scorings.scoring_id,
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        scorings.window_tokens,
        scorings.overlap_tokens,
        log_losses.token_count,
        {{ content_id([
            "'tokens'", 'log_losses.token_count', 'document_lists.document_ids',
            'document_lists.token_counts'
        ]) }} as sample_id

    from scorings

    inner join log_losses
        on scorings.scoring_id = log_losses.scoring_id

    left join document_lists
        on scorings.scoring_id = document_lists.scoring_id

)

select * from token_samples_identified
