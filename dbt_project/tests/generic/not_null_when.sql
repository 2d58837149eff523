{#- A returned row meets the condition and yet has no value. -#}
{% test not_null_when(model, column_name, condition) %}

select {{ column_name }}

from {{ model }}

where
    {{ column_name }} is null
    and ({{ condition }})

{% endtest %}
