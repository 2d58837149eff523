{#- The mean of a list of floats, NULL where one of its values is missing. -#}
{% macro mean_of_all(values) -%}
    case when list_count({{ values }}) = len({{ values }}) then list_avg(cast({{ values }} as double[])) end
{%- endmacro %}
