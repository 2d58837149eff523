with

strategy_vectors as (

    select * from {{ ref('int_strategy_vectors_scaled') }}

),

strategies as (

    select distinct
        study_name,
        language_model_name,
        coordinate_frame,
        decoding_strategy_name

    from strategy_vectors

),

left_out as (

    select distinct
        study_name,
        language_model_name,
        coordinate_frame,
        'none' as left_out_strategy_name

    from strategies

    union all

    select
        study_name,
        language_model_name,
        coordinate_frame,
        decoding_strategy_name as left_out_strategy_name

    from strategies

),

entering_vectors as (

    select
        left_out.left_out_strategy_name,
        strategy_vectors.*

    from left_out

    inner join strategy_vectors
        on
            left_out.study_name = strategy_vectors.study_name
            and left_out.language_model_name = strategy_vectors.language_model_name
            and left_out.coordinate_frame = strategy_vectors.coordinate_frame
            and left_out.left_out_strategy_name != strategy_vectors.decoding_strategy_name

),

strategy_counts as (

    select
        study_name,
        language_model_name,
        coordinate_frame,
        left_out_strategy_name,
        cast(count(distinct decoding_strategy_name) as integer) as strategy_count

    from entering_vectors

    group by all

),

-- A prompt that one strategy lacks would count as spread between strategies, and row i of two lists
-- must be one prompt, since both are resampled together: prompts of all that enter, or none.
shared_vectors as (

    select
        entering_vectors.*,
        strategy_counts.strategy_count

    from entering_vectors

    inner join strategy_counts
        on
            entering_vectors.study_name = strategy_counts.study_name
            and entering_vectors.language_model_name = strategy_counts.language_model_name
            and entering_vectors.coordinate_frame = strategy_counts.coordinate_frame
            and entering_vectors.left_out_strategy_name = strategy_counts.left_out_strategy_name

    qualify
        count(*) over (
            partition by
                entering_vectors.study_name,
                entering_vectors.language_model_name,
                entering_vectors.coordinate_frame,
                entering_vectors.left_out_strategy_name,
                entering_vectors.prompt_id
        ) = strategy_counts.strategy_count

),

strategy_lists as (

    select
        study_name,
        language_model_name,
        coordinate_frame,
        left_out_strategy_name,
        decoding_strategy_name,
        strategy_count,
        cast(count(*) as integer) as prompt_count,
        list(point order by prompt_id) as points

    from shared_vectors

    group by 1, 2, 3, 4, 5, 6

),

-- One vector has no spread of its own.
strategies_left_out as (

    select
        study_name,
        language_model_name,
        coordinate_frame,
        left_out_strategy_name,
        strategy_count,
        prompt_count,
        list(points order by decoding_strategy_name) as strategy_points

    from strategy_lists

    where strategy_count > 1 and prompt_count > 1

    group by 1, 2, 3, 4, 5, 6

)

select * from strategies_left_out
