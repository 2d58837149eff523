{#- A returned row is a key of several columns that the other model does not have. -#}
{% test composite_relationships(model, to, columns) %}

select distinct {{ columns | join(', ') }}

from {{ model }}

where
    {{ columns | join(' is not null and ') }} is not null

except

select {{ columns | join(', ') }}

from {{ to }}

{% endtest %}
