{#- A returned row holds a value outside [0, 1], or a NaN. -#}
{% test in_unit_interval(model, column_name) %}

select {{ column_name }}

from {{ model }}

where
    {{ column_name }} is not null
    and not {{ column_name }} between 0 and 1

{% endtest %}
