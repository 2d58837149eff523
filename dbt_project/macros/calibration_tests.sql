{#-
    GCV's hypothesis tests of a measure over configurations. `calibrations` has the columns of
    `int_calibrations_unpivoted`, `groups` those of `calibration_groups`.
-#}
{% macro calibration_tests(calibrations, groups) -%}
    {% set key = 'study_name, coordinate_frame, axes, measure_name' %}
    {% set sizes = "coalesce(list(parameter_count_billions order by group_name) filter ("
        ~ "parameter_count_billions is not null), cast([] as double[]))" %}
    {% for test_name, value in {
        'spearman_size_best': 'highest', 'spearman_size_mean': 'scale.mean'
    }.items() %}
        select
            {{ key }},
            '{{ test_name }}' as test_name,
            spearman_test(
                {{ sizes }},
                coalesce(
                    list({{ value }} order by group_name)
                        filter (parameter_count_billions is not null),
                    cast([] as double[])
                )
            ) as test

        from {{ groups }}

        where group_kind = 'language_model'

        group by {{ key }}

        union all

    {% endfor %}
    {% for test_name, group_kind in {
        'anova_strategy_type': 'strategy_type',
        'anova_decoding_strategy': 'decoding_strategy',
        'anova_language_model': 'language_model'
    }.items() %}
        select
            {{ key }},
            '{{ test_name }}' as test_name,
            analysis_of_variance(list(measure_values order by group_name)) as test

        from {{ groups }}

        where group_kind = '{{ group_kind }}'

        group by {{ key }}

        union all

    {% endfor %}
    {% for test_name in ['student_t_test', 'mann_whitney_test'] %}
        select
            {{ key }},
            '{{ test_name }}_base_instruct' as test_name,
            {{ test_name }}(
                coalesce(
                    first(measure_values) filter (group_name = 'base'), cast([] as double[])
                ),
                coalesce(
                    first(measure_values) filter (group_name = 'instruct'), cast([] as double[])
                )
            ) as test

        from {{ groups }}

        where group_kind = 'tuning'

        group by {{ key }}

        union all

    {% endfor %}
    select
        {{ key }},
        'spearman_wasserstein' as test_name,
        spearman_test(
            list(wasserstein_mean order by story_source_name),
            list(measure_value order by story_source_name)
        ) as test

    from {{ calibrations }}

    where
        wasserstein_mean is not null
        and measure_name not like 'wasserstein%'

    group by {{ key }}
{%- endmacro %}
