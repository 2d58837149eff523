{#-
    What became of a published figure; the model it stands in has `published_figures`. The tolerance is
    half a unit of the last printed digit, and a decimal bound is not exact in binary.
-#}
{% macro verdict(recomputed) -%}
    case
        when {{ recomputed }} is null then 'not derivable'
        when
            abs({{ recomputed }} - published_figures.published_value)
            <= published_figures.tolerance + 1e-9
            then 'reproduces'
        else 'differs'
    end
{%- endmacro %}
