with

binned_tokens as (

    select * from {{ ref('int_scored_tokens_binned') }}

),

-- In fixed point, units of 2^-40: the mean log loss needs the mean sketch only.
sketches_summed as (

    select
        scoring_id,
        fold_index,
        coalesce(is_unknown, false) as is_unknown,
        count(*) as token_count,
        sum(cast(round(log_probability_nats * 1099511627776) as bigint)) as own_units,
        [
            {% for place in range(1, 17) %}
                sum(
                    cast(
                        round(cast(temperature_sketch[{{ place }}] as double) * 1099511627776)
                        as bigint
                    )
                ){{ ',' if not loop.last }}
            {% endfor %}
        ] as sketch_units

    from binned_tokens

    where temperature_sketch is not null

    group by 1, 2, 3

)

select * from sketches_summed
