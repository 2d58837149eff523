with

composite_groups as (

    select *

    from {{ ref('int_calibration_groups_summarized') }}

    where
        coordinate_frame = 'pooled_z'
        and axes = 'semantic_lexical_syntactic'
        and measure_name = 'composite_calibration'

),

composite_tests as (

    select *

    from {{ ref('int_hypothesis_tests_run') }}

    where
        coordinate_frame = 'pooled_z'
        and axes = 'semantic_lexical_syntactic'
        and measure_name = 'composite_calibration'

),

volume_summaries as (

    select *

    from {{ ref('fct_calibration_summaries') }}

    where
        coordinate_frame = 'pooled_z'
        and axes = 'semantic_lexical_syntactic'
        and measure_name = 'hull_volume'

),

volume_tests as (

    select *

    from {{ ref('fct_hypothesis_tests') }}

    where
        coordinate_frame = 'pooled_z'
        and axes = 'semantic_lexical_syntactic'
        and measure_name = 'hull_volume'
        and test_name = 'mann_whitney_test_base_instruct'

),

calibration_figures as (

    {{ calibration_figures('composite_groups', 'composite_tests') }}

),

volume_figures as (

    {% for tuning in ['base', 'instruct'] %}
        select
            study_name,
            '{{ tuning }}_mean_hull_volume' as statistic_name,
            measure_mean as figure_value,
            cast(null as double) as alternative_value

        from volume_summaries

        where group_name = '{{ tuning }}'

        union all

        select
            study_name,
            '{{ tuning }}_sd_hull_volume' as statistic_name,
            measure_sd as figure_value,
            measure_sd_ddof_1 as alternative_value

        from volume_summaries

        where group_name = '{{ tuning }}'

        union all

    {% endfor %}
    select
        study_name,
        'mann_whitney_u_volume' as statistic_name,
        statistic as figure_value,
        null as alternative_value

    from volume_tests

),

study_statements_recomputed as (

    select * from calibration_figures

    union all

    select * from volume_figures

)

select * from study_statements_recomputed
