{#-
    The figures of GCV's sections 4.4 and A.4 from group summaries and tests of one calibration measure:
    name, value, and the value under the other convention. Both relations have a `study_name`.
-#}
{% macro calibration_figures(groups, tests) -%}
    {% for prefix, group_kind, group_name in [
        ('base', 'tuning', 'base'),
        ('instruct', 'tuning', 'instruct'),
        ('top_k', 'strategy_type', 'top_k'),
        ('temperature', 'strategy_type', 'temperature'),
        ('mistral', 'language_model', 'Mistral-7B-Instruct'),
    ] %}
        select
            study_name,
            '{{ prefix }}_mean_calibration' as statistic_name,
            scale.mean as figure_value,
            cast(null as double) as alternative_value

        from {{ groups }}

        where group_kind = '{{ group_kind }}' and group_name = '{{ group_name }}'

        union all

        select
            study_name,
            '{{ prefix }}_sd_calibration' as statistic_name,
            scale.sd as figure_value,
            case
                when configuration_count > 1
                    then scale.sd * sqrt(configuration_count / (configuration_count - 1))
            end as alternative_value

        from {{ groups }}

        where group_kind = '{{ group_kind }}' and group_name = '{{ group_name }}'

        union all

    {% endfor %}
    {% for statistic_name, test_name, value, alternative in [
        ('spearman_size_calibration_p', 'spearman_size_best', 'p_value', 'test.exact_p_value'),
        ('t_base_instruct', 'student_t_test_base_instruct', 'statistic', 'null'),
        ('t_base_instruct_p', 'student_t_test_base_instruct', 'p_value', 'null'),
        (
            'cohens_d_base_instruct', 'student_t_test_base_instruct', 'effect_size',
            'test.effect_size_ddof_0'
        ),
        ('anova_strategy_f', 'anova_strategy_type', 'statistic', 'null'),
        ('anova_strategy_p', 'anova_strategy_type', 'p_value', 'null'),
        ('anova_strategy_df_between', 'anova_strategy_type', 'degrees_of_freedom', 'null'),
        ('anova_strategy_df_within', 'anova_strategy_type', 'degrees_of_freedom_within', 'null'),
        ('wasserstein_calibration_rho', 'spearman_wasserstein', 'statistic', 'null'),
        ('wasserstein_calibration_p', 'spearman_wasserstein', 'p_value', 'test.exact_p_value'),
    ] %}
        select
            study_name,
            '{{ statistic_name }}' as statistic_name,
            test.{{ value }} as figure_value,
            {{ alternative }} as alternative_value

        from {{ tests }}

        where test_name = '{{ test_name }}'

        union all

    {% endfor %}
    select
        best.study_name,
        'spearman_size_calibration' as statistic_name,
        best.test.statistic as figure_value,
        mean.test.statistic as alternative_value

    from {{ tests }} as best

    inner join {{ tests }} as mean
        on best.study_name = mean.study_name

    where
        best.test_name = 'spearman_size_best'
        and mean.test_name = 'spearman_size_mean'
{%- endmacro %}
