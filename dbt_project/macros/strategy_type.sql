{#- Kind of a decoding strategy: its name without the number, as `top_k` of `top_k_40`. -#}
{% macro strategy_type(decoding_strategy_name) -%}
    regexp_replace({{ decoding_strategy_name }}, '_[0-9.]+$', '')
{%- endmacro %}
