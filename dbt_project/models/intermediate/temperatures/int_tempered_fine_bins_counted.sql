with

binned_tokens as (

    select * from {{ ref('int_scored_tokens_binned') }}

),

tempered_tokens as (

    {% for temperature in var('curve_temperatures') %}
        select
            scoring_id,
            cast({{ temperature }} as double) as applied_temperature,
            is_hit,
            {{ tempered_confidence(temperature) }} as confidence

        from binned_tokens

        where temperature_sketch is not null

        {{ 'union all' if not loop.last }}

    {% endfor %}
),

-- In fixed point, units of 2^-48, as `int_fine_bins_counted` counts them.
tempered_fine_bins_counted as (

    select
        scoring_id,
        applied_temperature,
        {{ bin_index('confidence', var('fine_bin_count')) }} as fine_bin_index,
        count(*) as token_count,
        count(*) filter (where is_hit) as hit_count,
        sum({{ fixed_units('confidence') }}) as confidence_units,
        sum({{ fixed_units('confidence * (1 - confidence)') }})
            as variance_units,
        -- The least of few are all of them, in order.
        case
            when count(*) < {{ var('exact_twin_tokens') }}
                then min(confidence, {{ var('exact_twin_tokens') }})
        end as confidences

    from tempered_tokens

    group by 1, 2, 3

)

select * from tempered_fine_bins_counted
