with

test_sets as (

    select * from {{ ref('clm_test_sets') }}

),

discounts as (

    select * from {{ ref('clm_discounts') }}

),

penalties as (

    select * from {{ ref('clm_penalties') }}

),

facts as (

    select * from {{ ref('clm_facts') }}

),

clm_figures_listed as (

    {% for table_name, subject_name, column_name, tolerance in clm_table_columns() %}
        select
            section,
            printed_table as printed_in,
            {{ subject_name }} as subject_name,
            '{{ column_name }}' as statistic_name,
            cast({{ column_name }} as double) as published_value,
            cast({{ tolerance }} as double) as tolerance,
            '{{ clm_note(table_name, column_name) }}' as note

        from {{ table_name }}

        {{ 'union all' if not loop.last }}

    {% endfor %}
)

select * from clm_figures_listed
