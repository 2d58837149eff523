{#-
    Columns of GCV's printed tables: seed, expression of the subject, column, tolerance, expression of
    the note. Figures are printed to three decimals; where a figure follows from others of its table,
    their rounding is in the tolerance.
-#}
{% macro published_table_columns() -%}
    {% set configuration = "concat(language_model_name, '/', decoding_strategy_name)" %}
    {% set pooled = "in pooled_z, three axes" %}
    {{ return([
        ('table_1', 'axis', 'mean', 0.0005, 'note'),
        ('table_1', 'axis', 'sd', 0.0005, 'note'),
        (
            'table_2', configuration, 'overall_calibration', 0.0006,
            "'0.4 overlap + 0.3/(1 + centroid distance) + 0.3 min(r, 1/r): never stated, fits all rows.'"
        ),
        (
            'table_2', configuration, 'overlap', 0.0005,
            "'Vertex overlap, threshold half_mean_sd, " ~ pooled ~ ".'"
        ),
        (
            'table_2', configuration, 'centroid_distance', 0.0005,
            "'Distance of the means of all points, " ~ pooled ~ ".'"
        ),
        (
            'table_2', configuration, 'volume_ratio', 0.0005,
            "'Hull volume over the human one, three axes; the same in every common frame.'"
        ),
        (
            'table_3', 'language_model_name', 'epistemic', 0.0005,
            "'Variance between strategies, mean over the axes, pooled_z, ddof 0.'"
        ),
        (
            'table_3', 'language_model_name', 'aleatoric', 0.0005,
            "'Mean variance within strategies, mean over the axes, pooled_z, ddof 0.'"
        ),
        (
            'table_3', 'language_model_name', 'total', 0.0015,
            "'Their sum; tolerance of three rounded numbers.'"
        ),
        (
            'table_3', 'language_model_name', 'epistemic_ratio', 0.003,
            "'Epistemic over total, pooled_z, ddof 0; tolerance of two rounded numbers near 0.2.'"
        ),
        (
            'table_4', configuration, 'calibration', 0.0005,
            "'Headline score: the overall calibration of Table 2, " ~ pooled ~ ".'"
        ),
    ]) }}
{%- endmacro %}
