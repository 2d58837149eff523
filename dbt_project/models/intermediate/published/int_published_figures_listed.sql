with

statements as (

    select * from {{ ref('gcv_statements') }}

),

table_1 as (

    select * from {{ ref('gcv_table_1') }}

),

table_2 as (

    select * from {{ ref('gcv_table_2') }}

),

table_3 as (

    select * from {{ ref('gcv_table_3') }}

),

table_4 as (

    select * from {{ ref('gcv_table_4') }}

),

published_figures_listed as (

    select
        section,
        'text' as printed_in,
        'all' as subject_name,
        statistic_name,
        published_value,
        tolerance,
        note

    from statements

    {% for table_name, subject_name, statistic_name, tolerance, note in published_table_columns() %}
        union all

        select
            section,
            printed_table as printed_in,
            {{ subject_name }} as subject_name,
            '{{ statistic_name }}' as statistic_name,
            {{ statistic_name }} as published_value,
            {{ tolerance }} as tolerance,
            {{ note }} as note

        from {{ table_name }}

    {% endfor %}
)

select * from published_figures_listed
