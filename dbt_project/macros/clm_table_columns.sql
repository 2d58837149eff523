{#-
    Columns of CLM's printed tables: relation, expression of the subject, column, tolerance. Figures are
    printed to three decimals. `text_set` columns of the penalties are fitted temperatures on that text.
-#}
{% macro clm_table_columns() -%}
    {% set found = [] %}
    {% for table_name, subject_name, columns in [
        (
            'test_sets',
            "concat(language_model_name, '/', test_set_name)",
            [
                'mean_confidence', 'accuracy', 'ece_15', 'twin_ece', 'fitted_temperature',
                'nucleus_coverage', 'nucleus_kept_mass'
            ]
        ),
        (
            'discounts',
            "concat('discount ', discount_factor)",
            ['fitted_temperature', 'gap_third_to_0_6', 'gap_above_two_thirds']
        ),
        (
            'penalties',
            "concat('penalty ', penalty)",
            ['derivative_at_1', 'training', 'continuation', 'held', 'edgar']
        ),
        ('facts', 'regime', ['probe_count', 'mean_confidence', 'accuracy']),
    ] %}
        {% for column_name in columns %}
            {% set tolerance = 0 if column_name == 'probe_count' else 0.0005 %}
            {% do found.append((table_name, subject_name, column_name, tolerance)) %}
        {% endfor %}
    {% endfor %}
    {{ return(found) }}
{%- endmacro %}

{% macro clm_note(table_name, column_name) -%}
    {% set notes = {
        'test_sets': 'On the text of a generator that CLM does not publish: its finding is the target, not its digits.',
        'discounts': 'Trigram on the continuation, discounts times Ney. Another generator: the order is the target.',
        'penalties': 'Log-linear bigram of 512 tokens. Another generator: the signs and their order are the target.',
        'facts': 'Facts drawn anew from a seed: the order of the regimes is the target.'
    } %}
    {{- notes[table_name] -}}
{%- endmacro %}
