with

published_figures as (

    select
        *,
        'GCV' as document_name

    from {{ ref('int_published_figures_listed') }}

    union all by name

    select
        *,
        'CLM' as document_name

    from {{ ref('int_clm_figures_listed') }}

),

published_figures_recomputed as (

    select * from {{ ref('int_published_figures_recomputed') }}

),

study_figures_recomputed as (

    select * from {{ ref('int_study_figures_recomputed') }}

    union all by name

    select * from {{ ref('int_clm_figures_recomputed') }}

),

trained_studies as (

    select distinct study_name from {{ ref('dim_trained_language_models') }}

),

studies as (

    select * from {{ ref('dim_studies') }}

),

fct_published_reconciliations as (

    select
        studies.study_name,
        published_figures.document_name,
        published_figures.section,
        published_figures.printed_in,
        published_figures.subject_name,
        published_figures.statistic_name,
        published_figures.published_value,
        published_figures.tolerance,
        published_figures_recomputed.figure_value as value_from_published,
        published_figures_recomputed.alternative_value as alternative_from_published,
        {{ verdict('published_figures_recomputed.figure_value') }} as verdict_from_published,
        study_figures_recomputed.figure_value as value_from_study,
        study_figures_recomputed.alternative_value as alternative_from_study,
        {{ verdict('study_figures_recomputed.figure_value') }} as verdict_from_study,
        published_figures.note,
        '{{ var("definition_version") }}' as definition_version

    from studies

    cross join published_figures

    left join trained_studies
        on studies.study_name = trained_studies.study_name

    left join published_figures_recomputed
        on
            published_figures.printed_in = published_figures_recomputed.printed_in
            and published_figures.subject_name = published_figures_recomputed.subject_name
            and published_figures.statistic_name = published_figures_recomputed.statistic_name

    left join study_figures_recomputed
        on
            studies.study_name = study_figures_recomputed.study_name
            and published_figures.printed_in = study_figures_recomputed.printed_in
            and published_figures.subject_name = study_figures_recomputed.subject_name
            and published_figures.statistic_name = study_figures_recomputed.statistic_name

    -- CLM is about language models trained here; studies without one have nothing to compare.
    where
        published_figures.document_name = 'GCV'
        or trained_studies.study_name is not null

    order by
        studies.study_name,
        published_figures.printed_in,
        published_figures.subject_name,
        published_figures.statistic_name

)

select * from fct_published_reconciliations
