{#-
    Place of a confidence among equal-width bins (lo, hi], from 0: how many of the edges 1/B … (B-1)/B
    lie below it. Rounding the product finds the edge nearest to it, whatever the product's last bit;
    on which side of that edge it lies is compared with the edge itself, in double precision.
-#}
{% macro bin_index(confidence, bin_count) -%}
    greatest(
        cast({{ confidence }} * {{ bin_count }} as integer)
        - cast(
            {{ confidence }} <= cast({{ confidence }} * {{ bin_count }} as integer) / {{ bin_count }}
            as integer
        ),
        0
    )
{%- endmacro %}
