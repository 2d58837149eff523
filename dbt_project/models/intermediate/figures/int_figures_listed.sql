{% set subject = [
    'test_set_name', 'language_model_name', 'binning', 'story_source_name', 'coordinate_frame', 'axes'
] %}
{% set values = ['figure_value', 'noise_floor', 'noise_sd'] %}

with

token_figures as (

    select * from {{ ref('int_token_figures_listed') }}

),

story_figures as (

    select * from {{ ref('int_story_figures_listed') }}

),

all_figures as (

    select * from token_figures

    union all by name

    select * from story_figures

),

identified_figures as (

    select
        *,
        {{ content_id(['study_name', 'figure_kind', 'measure_name'] + subject) }} as figure_id

    from all_figures

),

-- Doubles as text have every digit, and infinities that JSON lacks.
figure_sets as (

    select
        study_name,
        {{ content_id([
            'list(figure_id order by figure_id)',
            'list(cast(figure_value as varchar) order by figure_id)',
            'list(cast(noise_floor as varchar) order by figure_id)',
            'list(cast(noise_sd as varchar) order by figure_id)',
            'list(sample_id order by figure_id)',
            'list(definition_json order by figure_id)'
        ]) }} as figure_set_id

    from identified_figures

    group by 1

),

figures_listed as (

    select
        figures.study_name,
        figures.figure_id,
        figure_sets.figure_set_id,
        figures.figure_kind,
        figures.measure_name,
        {% for column in subject + values %}
            figures.{{ column }},
        {% endfor %}
        figures.noise_kind,
        figures.sample_count,
        figures.sample_id,
        figures.definition_json

    from identified_figures as figures

    inner join figure_sets
        on figures.study_name = figure_sets.study_name

)

select * from figures_listed
