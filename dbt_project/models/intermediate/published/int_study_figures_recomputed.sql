with

study_statements as (

    select * from {{ ref('int_study_statements_recomputed') }}

),

study_geometry as (

    select * from {{ ref('int_study_geometry_recomputed') }}

),

study_tables as (

    select * from {{ ref('int_study_tables_recomputed') }}

),

study_figures_recomputed as (

    select
        study_name,
        'text' as printed_in,
        'all' as subject_name,
        statistic_name,
        figure_value,
        alternative_value

    from study_statements

    union all

    select
        study_name,
        'text' as printed_in,
        'all' as subject_name,
        statistic_name,
        figure_value,
        null as alternative_value

    from study_geometry

    union all

    select
        study_name,
        printed_in,
        subject_name,
        statistic_name,
        figure_value,
        null as alternative_value

    from study_tables

)

select * from study_figures_recomputed
