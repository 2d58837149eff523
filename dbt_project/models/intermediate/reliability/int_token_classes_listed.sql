{{ config(materialized='view') }}

with

binned_tokens as (

    select * from {{ ref('int_scored_tokens_binned') }}

),

top_labels as (

    select
        scoring_id,
        top_label

    from binned_tokens

    where top_label is not null

    group by 1, 2

    qualify
        row_number() over (partition by scoring_id order by count(*) desc, top_label)
        <= {{ var('top_label_count') }}

),

classified_tokens as (

    select
        binned_tokens.*,
        top_labels.top_label as frequent_top_label

    from binned_tokens

    left join top_labels
        on
            binned_tokens.scoring_id = top_labels.scoring_id
            and binned_tokens.top_label = top_labels.top_label

),

token_classes_listed as (

    select
        scoring_id,
        confidence,
        is_hit,
        log_probability_nats,
        temperature_sketch,
        unnest(
            [
                'confidence_range',
                'document',
                'known_words',
                'position_in_sentence',
                'top_label'
            ]
        ) as breakdown_name,
        unnest(
            [
                printf('%.1f to %.1f', tenth / 10, (tenth + 1) / 10),
                case when position is not null then printf('%06d', document_index) end,
                case when is_unknown then 'unknown' when not is_unknown then 'known' end,
                case
                    when position < 2 then cast(position as varchar)
                    when position < 4 then '2 to 3'
                    when position < 8 then '4 to 7'
                    when position < 16 then '8 to 15'
                    when position is not null then '16 on'
                end,
                case
                    when frequent_top_label is not null then 'label ' || frequent_top_label
                    when top_label is not null then 'others'
                end
            ]
        ) as class_name

    from (
        select
            *,
            fine_bin_index * 10 // {{ var('fine_bin_count') }} as tenth

        from classified_tokens
    )

)

select * from token_classes_listed
