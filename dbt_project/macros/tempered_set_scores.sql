{#-
    What prediction sets judge a token by at a temperature, of a relation with the columns of
    `int_scored_tokens_binned`; see `tempered_confidence`.
-#}
{% macro tempered_mass_ahead(temperature) -%}
    {% if temperature == 1.0 -%}
        mass_ahead
    {%- else -%}
        least(mass_ahead_at({{ temperature }}, temperature_sketch, mass_ahead_sketch, rank), 1)
    {%- endif %}
{%- endmacro %}

{% macro tempered_unlikeliness(temperature) -%}
    {% if temperature == 1.0 -%}
        1 - exp(log_probability_nats)
    {%- else -%}
        1 - exp(-log_loss_at({{ temperature }}, temperature_sketch, log_probability_nats))
    {%- endif %}
{%- endmacro %}

{#-
    The rows of `int_set_scores_tempered` at one temperature: a number, or the column of a fitted one.
-#}
{% macro tempered_set_scores(temperature, tokens) -%}
    select
        scoring_id,
        cast({{ temperature }} as double) as applied_temperature,
        {{ temperature == 'fitted_temperature' }} as is_fitted_temperature,
        fold_index,
        is_unknown,
        {{ tempered_mass_ahead(temperature) }} as mass_ahead,
        {{ tempered_unlikeliness(temperature) }} as unlikeliness,
        {{ 'cast(kept_mass as double)' if temperature == 1.0 else 'null' }} as kept_mass,
        {{ 'prediction_set_size' if temperature == 1.0 else 'null' }} as prediction_set_size

    from {{ tokens }}

    where temperature_sketch is not null
{%- endmacro %}
