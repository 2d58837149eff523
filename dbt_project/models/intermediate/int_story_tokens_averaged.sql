with

story_tokens as (

    select * from {{ ref('stg_raw__story_tokens') }}

),

-- A list is summed from its first to its last element, so the same tokens give the same bits.
story_tokens_averaged as (

    select
        story_id,
        cast(len(token_ids) as integer) as scored_token_count,
        list_avg(cast(confidences as double[])) as mean_confidence,
        -list_avg(cast(log_probabilities_nats as double[])) as log_loss_nats,
        list_avg(cast(sampling_confidences as double[])) as mean_sampling_confidence,
        -list_avg(cast(sampling_log_probabilities_nats as double[])) as sampling_log_loss_nats

    from story_tokens

)

select * from story_tokens_averaged
