{#-
    A coordinate in units of its axis. `scale` is the answer of `axis_scale`; its sd is exactly 0 for a
    constant axis, on which every coordinate is 0.
-#}
{% macro z_score(coordinate, scale) -%}
    case
        when {{ scale }}.sd = 0 then 0
        else ({{ coordinate }} - {{ scale }}.mean) / {{ scale }}.sd
    end
{%- endmacro %}
