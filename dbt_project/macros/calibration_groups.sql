{#-
    Means and spreads of a measure over groups of configurations. `calibrations` is a relation with the
    columns of `int_calibrations_unpivoted`.
-#}
{% macro calibration_groups(calibrations) -%}
    {% for group_kind, group_name in {
        'tuning': "case when is_instruction_tuned then 'instruct' else 'base' end",
        'language_model': 'language_model_name',
        'strategy_type': 'strategy_type_name',
        'decoding_strategy': 'decoding_strategy_name'
    }.items() %}
    {{ calibration_group(calibrations, group_kind, group_name) }}

    union all

    {% endfor %}
    {{ calibration_group(calibrations, 'all', "'all'") }}
{%- endmacro %}

{% macro calibration_group(calibrations, group_kind, group_name) -%}
    select
        study_name,
        coordinate_frame,
        axes,
        measure_name,
        '{{ group_kind }}' as group_kind,
        {{ group_name }} as group_name,
        min(parameter_count_billions) as parameter_count_billions,
        bool_and(is_instruction_tuned) as is_instruction_tuned,
        cast(count(*) as integer) as configuration_count,
        max(measure_value) as highest,
        arg_max(story_source_name, measure_value) as best_story_source_name,
        axis_scale(list(measure_value order by story_source_name)) as scale,
        list(measure_value order by story_source_name) as measure_values

    from {{ calibrations }}

    where is_instruction_tuned is not null or '{{ group_kind }}' != 'tuning'

    group by 1, 2, 3, 4, 5, 6
{%- endmacro %}
