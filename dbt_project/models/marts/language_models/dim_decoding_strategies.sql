with

decoding_strategies as (

    select * from {{ ref('stg_raw__decoding_strategies') }}

),

stories as (

    select * from {{ ref('stg_raw__stories') }}

),

story_counts as (

    select
        study_name,
        decoding_strategy_id,
        cast(count(*) as integer) as story_count

    from stories

    where decoding_strategy_id is not null

    group by 1, 2

),

dim_decoding_strategies as (

    select
        story_counts.study_name,
        story_counts.decoding_strategy_id,
        decoding_strategies.decoding_strategy_name,
        decoding_strategies.sampling_temperature,
        decoding_strategies.top_k,
        decoding_strategies.nucleus_mass,
        decoding_strategies.typical_mass,
        story_counts.story_count

    from story_counts

    inner join decoding_strategies
        on story_counts.decoding_strategy_id = decoding_strategies.decoding_strategy_id

    order by story_counts.study_name, story_counts.decoding_strategy_id

)

select * from dim_decoding_strategies
