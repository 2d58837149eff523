{#-
    Place of a confidence among equal-width bins (lo, hi], from 0: how many of the edges 1/B … (B-1)/B
    lie below it. `ceil(confidence * B) - 1` alone is wrong at edges for many B, since the product is
    rounded: it is corrected by comparing with the edges themselves, in double precision.
-#}
{% macro bin_index(confidence, bin_count) -%}
    cast(
        greatest(ceil({{ confidence }} * {{ bin_count }}) - 1, 0)
        + case
            when {{ confidence }}
                > (greatest(ceil({{ confidence }} * {{ bin_count }}) - 1, 0) + 1) / {{ bin_count }}
                then 1
            when ceil({{ confidence }} * {{ bin_count }}) > 1
                and {{ confidence }}
                <= (ceil({{ confidence }} * {{ bin_count }}) - 1) / {{ bin_count }}
                then -1
            else 0
        end
        as integer
    )
{%- endmacro %}
