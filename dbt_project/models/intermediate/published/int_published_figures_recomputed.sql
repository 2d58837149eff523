with

table_2 as (

    select * from {{ ref('gcv_table_2') }}

),

table_3 as (

    select * from {{ ref('gcv_table_3') }}

),

calibration_groups as (

    select * from {{ ref('int_published_calibration_groups_summarized') }}

),

calibration_tests as (

    select * from {{ ref('int_published_calibration_tests_run') }}

),

calibration_figures as (

    {{ calibration_figures('calibration_groups', 'calibration_tests') }}

),

published_figures_recomputed as (

    select
        'text' as printed_in,
        'all' as subject_name,
        statistic_name,
        figure_value,
        alternative_value

    from calibration_figures

    union all

    select
        printed_table as printed_in,
        concat(language_model_name, '/', decoding_strategy_name) as subject_name,
        'overall_calibration' as statistic_name,
        0.4 * overlap
        + 0.3 / (1 + centroid_distance)
        + 0.3 * least(volume_ratio, 1 / volume_ratio) as figure_value,
        null as alternative_value

    from table_2

    union all

    select
        printed_table as printed_in,
        language_model_name as subject_name,
        'total' as statistic_name,
        epistemic + aleatoric as figure_value,
        null as alternative_value

    from table_3

    union all

    select
        printed_table as printed_in,
        language_model_name as subject_name,
        'epistemic_ratio' as statistic_name,
        epistemic / (epistemic + aleatoric) as figure_value,
        null as alternative_value

    from table_3

)

select * from published_figures_recomputed

where figure_value is not null
