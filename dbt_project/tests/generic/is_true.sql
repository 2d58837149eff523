{#- A returned row violates the expression. -#}
{% test is_true(model, expression) %}

select *

from {{ model }}

where not coalesce({{ expression }}, true)

{% endtest %}
