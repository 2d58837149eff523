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
