with

strategy_vectors as (

    select * from {{ ref('int_strategy_vectors_scaled') }}

),

-- One vector has no spread of its own.
strategies as (

    select
        study_name,
        language_model_name,
        coordinate_frame,
        decoding_strategy_name,
        cast(count(*) as integer) as prompt_count,
        list(point order by prompt_id) as points

    from strategy_vectors

    group by 1, 2, 3, 4

    having count(*) > 1

),

left_out as (

    select
        study_name,
        language_model_name,
        coordinate_frame,
        'none' as left_out_strategy_name

    from strategies

    group by 1, 2, 3

    union all

    select
        study_name,
        language_model_name,
        coordinate_frame,
        decoding_strategy_name as left_out_strategy_name

    from strategies

),

strategies_left_out as (

    select
        left_out.study_name,
        left_out.language_model_name,
        left_out.coordinate_frame,
        left_out.left_out_strategy_name,
        cast(count(*) as integer) as strategy_count,
        min(strategies.prompt_count) as prompt_count,
        list(strategies.points order by strategies.decoding_strategy_name) as strategy_points

    from left_out

    inner join strategies
        on
            left_out.study_name = strategies.study_name
            and left_out.language_model_name = strategies.language_model_name
            and left_out.coordinate_frame = strategies.coordinate_frame
            and left_out.left_out_strategy_name != strategies.decoding_strategy_name

    group by 1, 2, 3, 4

    having count(*) > 1

)

select * from strategies_left_out
