with

binned_tokens as (

    select * from {{ ref('int_scored_tokens_binned') }}

),

tempered_tokens as (

    {% for temperature in var('set_temperatures') %}
        select
            scoring_id,
            cast({{ temperature }} as double) as applied_temperature,
            document_index,
            token_index,
            is_hit,
            confidence as confidence_at_1,
            {{ tempered_confidence(temperature) }} as confidence

        from binned_tokens

        {% if temperature != 1.0 %}
            where temperature_sketch is not null
        {% endif %}

        {{ 'union all' if not loop.last }}

    {% endfor %}
),

-- Equal confidences are taken in the order of the text: top bins hold thousands of near-ties.
confidences_ranked as (

    select
        *,
        row_number() over (
            partition by scoring_id, applied_temperature
            order by confidence desc, document_index asc, token_index asc
        ) as confidence_rank,
        row_number() over (
            partition by scoring_id, applied_temperature
            order by confidence_at_1 desc, document_index asc, token_index asc
        ) as confidence_rank_at_1

    from tempered_tokens

)

select * from confidences_ranked
