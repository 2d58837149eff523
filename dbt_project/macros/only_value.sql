{#- The value of a column in a group that has one value only; NULL where it has several or none. -#}
{% macro only_value(column) -%}
    case when count(distinct {{ column }}) = 1 then min({{ column }}) end as {{ column }}
{%- endmacro %}
