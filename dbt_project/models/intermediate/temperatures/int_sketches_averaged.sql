with

sketches_summed as (

    select * from {{ ref('int_sketches_summed') }}

),

token_groups as (

    select
        *,
        unnest(
            case when is_unknown then ['all'] else ['all', 'known_words'] end
        ) as token_group

    from sketches_summed

),

folds as (

    select
        *,
        unnest(['all', case fold_index when 0 then 'even' else 'odd' end]) as fold_name

    from token_groups

),

sketches_averaged as (

    select
        scoring_id,
        token_group,
        if(token_group = 'all', 'all', 'known') as class_name,
        fold_name,
        cast(sum(token_count) as bigint) as token_count,
        {{ from_units('sum(own_units)', 40) }} / sum(token_count)
            as mean_log_probability_nats,
        [
            {% for place in range(1, 17) %}
                cast(sum(sketch_units[{{ place }}]) as double)
                / sum(token_count){{ ',' if not loop.last }}
            {% endfor %}
        ] as mean_sketch

    from folds

    group by 1, 2, 3, 4

)

select * from sketches_averaged
