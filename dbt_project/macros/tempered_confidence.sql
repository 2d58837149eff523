{#-
    Confidence at a temperature of the sketch's range, of a relation with the columns of
    `int_scored_tokens_binned`: exact at 1, and never above 1 by the error of the sketch. The
    temperature is a number of the project, so that the basis is computed once and not per row.
-#}
{% macro tempered_confidence(temperature) -%}
    {% if temperature == 1.0 -%}
        confidence
    {%- else -%}
        least(confidence_at({{ temperature }}, temperature_sketch, confidence), 1)
    {%- endif %}
{%- endmacro %}
