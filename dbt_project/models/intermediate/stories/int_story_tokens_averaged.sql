with

story_tokens as (

    select * from {{ ref('stg_raw__story_tokens') }}

),

-- A list is summed from its first to its last element: the same tokens give the same bits. Where an
-- endpoint leaves out the value of a token, the mean over the others would not be the story's.
story_tokens_averaged as (

    select
        story_id,
        cast(
            greatest(
                list_count(log_probabilities_nats), list_count(sampling_log_probabilities_nats)
            ) as integer
        ) as scored_token_count,
        case
            when
                list_count(log_probabilities_nats) = len(token_ids)
                and list_count(sampling_log_probabilities_nats) = len(token_ids)
                then 'both'
            when list_count(log_probabilities_nats) = len(token_ids) then 'unmodified'
            when list_count(sampling_log_probabilities_nats) = len(token_ids) then 'sampling'
            else 'incomplete'
        end as token_probability_status,
        {{ mean_of_all('confidences') }} as mean_confidence,
        -{{ mean_of_all('log_probabilities_nats') }} as log_loss_nats,
        {{ mean_of_all('sampling_confidences') }} as mean_sampling_confidence,
        -{{ mean_of_all('sampling_log_probabilities_nats') }} as sampling_log_loss_nats

    from story_tokens

)

select * from story_tokens_averaged
