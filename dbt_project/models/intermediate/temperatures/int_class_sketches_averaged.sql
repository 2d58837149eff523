with

token_classes as (

    select * from {{ ref('int_token_classes_listed') }}

),

-- Known words are a token group of `int_sketches_averaged`, with folds.
class_sketches_averaged as (

    select
        scoring_id,
        breakdown_name as token_group,
        class_name,
        count(*) as token_count,
        {{ exact_sum('log_probability_nats', 40) }} / count(*) as mean_log_probability_nats,
        [
            {% for place in range(1, 17) %}
                cast(sum(temperature_sketch[{{ place }}]) as double)
                / count(*){{ ',' if not loop.last }}
            {% endfor %}
        ] as mean_sketch

    from token_classes

    where
        temperature_sketch is not null
        and class_name is not null
        and (breakdown_name != 'known_words' or class_name != 'known')

    group by 1, 2, 3

)

select * from class_sketches_averaged
