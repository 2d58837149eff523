{#-
    Standard deviation of the normal law whose central 95 % are as wide as the interval from `low` to
    `high`: half the width over the law's 97.5 % quantile.
-#}
{% macro interval_sd(low, high) -%}
    ({{ high }} - {{ low }}) / (2 * 1.959963984540054)
{%- endmacro %}
