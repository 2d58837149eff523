{{ config(materialized='view') }}

with

binned_tokens as (

    select * from {{ ref('int_scored_tokens_binned') }}

),

set_scores_tempered as (

    {% for temperature in var('set_temperatures') %}
        select
            scoring_id,
            cast({{ temperature }} as double) as applied_temperature,
            fold_index,
            is_unknown,
            {{ tempered_mass_ahead(temperature) }} as mass_ahead,
            {{ tempered_unlikeliness(temperature) }} as unlikeliness,
            case when {{ temperature }} = 1 then kept_mass end as kept_mass,
            case when {{ temperature }} = 1 then prediction_set_size end as prediction_set_size

        from binned_tokens

        where temperature_sketch is not null

        {{ 'union all' if not loop.last }}

    {% endfor %}
)

select * from set_scores_tempered
