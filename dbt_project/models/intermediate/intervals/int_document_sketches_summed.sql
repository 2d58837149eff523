{{ config(materialized='view') }}

with

binned_tokens as (

    select * from {{ ref('int_scored_tokens_binned') }}

),

token_groups as (

    select
        *,
        unnest(
            case when is_unknown then ['all'] else ['all', 'known_words'] end
        ) as token_group

    from binned_tokens

    where temperature_sketch is not null

),

document_sketches_summed as (

    select
        scoring_id,
        token_group,
        if(token_group = 'all', 'all', 'known') as class_name,
        unit_index,
        cast(count(*) as double) as token_count,
        {{ exact_sum('log_probability_nats', 40) }} as log_probability_sum,
        sketch_in_nats(
            [
                {% for place in range(1, 17) %}
                    sum(temperature_sketch[{{ place }}]){{ ',' if not loop.last }}
                {% endfor %}
            ]
        ) as sketch_sums

    from token_groups

    group by 1, 2, 3, 4

)

select * from document_sketches_summed
