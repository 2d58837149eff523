with

hypothesis_tests_run as (

    select * from {{ ref('int_hypothesis_tests_run') }}

),

fct_hypothesis_tests as (

    select
        hypothesis_tests_run.study_name,
        hypothesis_tests_run.coordinate_frame,
        hypothesis_tests_run.axes,
        hypothesis_tests_run.measure_name,
        hypothesis_tests_run.test_name,
        hypothesis_tests_run.test.statistic,
        hypothesis_tests_run.test.p_value,
        hypothesis_tests_run.test.exact_p_value,
        hypothesis_tests_run.test.effect_size,
        hypothesis_tests_run.test.effect_size_ddof_0,
        hypothesis_tests_run.test.value_count,
        hypothesis_tests_run.test.degrees_of_freedom,
        hypothesis_tests_run.test.degrees_of_freedom_within,
        case
            when hypothesis_tests_run.test_name like 'spearman%'
                then 'Spearman; p by Student''s t, exact up to eight pairs; two-sided'
            when hypothesis_tests_run.test_name like 'anova%'
                then 'one-way analysis of variance; effect size eta squared'
            when hypothesis_tests_run.test_name like 'student%'
                then 'base minus instruct; pooled variance; effect size Cohen''s d; two-sided'
            else 'U of base; p by the normal law, exact without ties; two-sided'
        end as convention,
        '{{ var("definition_version") }}' as definition_version

    from hypothesis_tests_run

    order by
        hypothesis_tests_run.study_name,
        hypothesis_tests_run.coordinate_frame,
        hypothesis_tests_run.axes,
        hypothesis_tests_run.measure_name,
        hypothesis_tests_run.test_name

)

select * from fct_hypothesis_tests
