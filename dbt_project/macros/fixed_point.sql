{#-
    Sums whose bits depend on no order: values are rounded to units of 2^-bits, by the cast itself, and
    added as integers. 48 bits are for values in [0, 1], 40 for values up to some thousands.
    `fixed_units` is the integer of one value, `from_units` the number that a sum of them stands for,
    `exact_sum` both around a sum.
-#}
{% macro fixed_units(value, bits=48) -%}
    cast({{ value }} * {{ 2 ** bits }} as bigint)
{%- endmacro %}

{% macro from_units(units, bits=48) -%}
    cast({{ units }} as double) / {{ 2 ** bits }}
{%- endmacro %}

{% macro exact_sum(value, bits=48, condition=none) -%}
    {% set units = 'sum(' ~ fixed_units(value, bits) ~ ')' %}
    {%- if condition is not none -%}
        {% set units = units ~ ' filter (where ' ~ condition ~ ')' %}
    {%- endif -%}
    {{ from_units(units, bits) }}
{%- endmacro %}
