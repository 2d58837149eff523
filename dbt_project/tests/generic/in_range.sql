{#- A returned row holds a value below the minimum, above the maximum, or a NaN. -#}
{% test in_range(model, column_name, minimum, maximum="cast('infinity' as double)") %}

select {{ column_name }}

from {{ model }}

where
    {{ column_name }} is not null
    and (
        {{ column_name }} not between {{ minimum }} and {{ maximum }}
        or isnan(cast({{ column_name }} as double))
    )

{% endtest %}
