with

binned_tokens as (

    select * from {{ ref('int_scored_tokens_binned') }}

),

-- The mean log loss needs the mean sketch only. Sketches are stored in whole units;
-- log-probabilities are summed in units of 2^-40.
sketches_summed as (

    select
        scoring_id,
        fold_index,
        coalesce(is_unknown, false) as is_unknown,
        count(*) as token_count,
        sum({{ fixed_units('log_probability_nats', 40) }}) as own_units,
        [
            {% for place in range(1, 17) %}
                sum(temperature_sketch[{{ place }}]){{ ',' if not loop.last }}
            {% endfor %}
        ] as sketch_units

    from binned_tokens

    where temperature_sketch is not null

    group by 1, 2, 3

)

select * from sketches_summed
