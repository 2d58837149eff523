{#- A returned row is a key that several rows share, or that has a missing part. -#}
{% test unique_combination_of_columns(model, combination_of_columns) %}

select
    {{ combination_of_columns | join(', ') }},
    count(*) as row_count

from {{ model }}

group by {{ combination_of_columns | join(', ') }}

having
    count(*) > 1
    {% for column in combination_of_columns %}or {{ column }} is null
    {% endfor %}

{% endtest %}
