{#-
    What one unit of an axis as measured is in z-scores by `scale`, the answer of `axis_scale`; 0 for a
    constant axis, on which every z-score is 0.
-#}
{% macro axis_unit(scale) -%}
    case when {{ scale }}.sd = 0 then 0 else 1 / {{ scale }}.sd end
{%- endmacro %}
