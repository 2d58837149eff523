{#- Measures of configurations that are summarised over groups of them. -#}
{% macro summarized_measures() -%}
    {{ return([
        'overlap_calibration',
        'composite_calibration',
        'iou',
        'hull_volume',
        'wasserstein_semantic',
        'wasserstein_lexical',
        'wasserstein_syntactic',
        'wasserstein_mean'
    ]) }}
{%- endmacro %}
