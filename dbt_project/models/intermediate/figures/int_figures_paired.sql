{% set shared = [
    'study_name', 'figure_id', 'figure_kind', 'measure_name', 'test_set_name', 'language_model_name',
    'binning', 'story_source_name', 'coordinate_frame', 'axes', 'noise_kind'
] %}
{% set compared = [
    'figure_value', 'noise_floor', 'noise_sd', 'sample_count', 'sample_id', 'definition_json'
] %}

with

figures as (

    select * from {{ ref('int_figures_listed') }}

),

earlier_figures as (

    select * from {{ ref('int_earlier_figures_listed') }}

),

earlier_publications as (

    select distinct
        study_name,
        publication_id,
        published_at

    from earlier_figures

),

pairs as (

    select
        {% for column in shared %}
            coalesce(figures.{{ column }}, earlier_figures.{{ column }}) as {{ column }},
        {% endfor %}
        {% for column in compared %}
            figures.{{ column }},
            earlier_figures.{{ column }} as earlier_{{ column }},
        {% endfor %}
        figures.figure_set_id,
        figures.figure_id is not null as is_shown_now,
        earlier_figures.figure_id is not null as was_shown_earlier

    from figures

    full outer join earlier_figures
        on figures.figure_id = earlier_figures.figure_id

),

figures_paired as (

    select
        pairs.*,
        earlier_publications.publication_id as earlier_publication_id,
        earlier_publications.published_at as earlier_published_at

    from pairs

    left join earlier_publications
        on pairs.study_name = earlier_publications.study_name

)

select * from figures_paired
