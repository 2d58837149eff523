with

published_figures as (

    select * from {{ ref('stg_raw__published_figures') }}

),

publications as (

    select * from {{ ref('stg_raw__publications') }}

),

figures as (

    select * from {{ ref('int_figures_listed') }}

),

current_sets as (

    select distinct
        study_name,
        figure_set_id

    from figures

),

earlier_sets as (

    select distinct
        published_figures.study_name,
        published_figures.publication_id,
        published_figures.figure_set_id,
        publications.published_at

    from published_figures

    inner join publications
        on published_figures.publication_id = publications.publication_id

),

-- The latest publication with other figures of the study. What another study published meanwhile,
-- and this build when it is made again, do not count.
earlier_publications as (

    select
        earlier_sets.study_name,
        earlier_sets.publication_id,
        earlier_sets.published_at

    from earlier_sets

    left join current_sets
        on earlier_sets.study_name = current_sets.study_name

    where earlier_sets.figure_set_id is distinct from current_sets.figure_set_id

    qualify
        row_number() over (
            partition by earlier_sets.study_name
            order by earlier_sets.published_at desc, earlier_sets.publication_id desc
        ) = 1

),

earlier_figures_listed as (

    select
        published_figures.publication_id,
        published_figures.figure_id,
        published_figures.study_name,
        published_figures.figure_set_id,
        published_figures.figure_kind,
        published_figures.measure_name,
        published_figures.test_set_name,
        published_figures.language_model_name,
        published_figures.binning,
        published_figures.story_source_name,
        published_figures.coordinate_frame,
        published_figures.axes,
        published_figures.figure_value,
        published_figures.noise_floor,
        published_figures.noise_sd,
        published_figures.noise_kind,
        published_figures.sample_count,
        published_figures.sample_id,
        published_figures.definition_json,
        earlier_publications.published_at

    from published_figures

    inner join earlier_publications
        on
            published_figures.study_name = earlier_publications.study_name
            and published_figures.publication_id = earlier_publications.publication_id

)

select * from earlier_figures_listed
