{#- A returned row meets the condition, under which nothing is known, and yet has a value. -#}
{% test null_when(model, column_name, condition) %}

select {{ column_name }}

from {{ model }}

where
    {{ column_name }} is not null
    and ({{ condition }})

{% endtest %}
