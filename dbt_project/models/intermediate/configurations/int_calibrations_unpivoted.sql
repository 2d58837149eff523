with

credal_overlaps as (

    select * from {{ ref('fct_credal_overlaps') }}

),

story_sources as (

    select * from {{ ref('dim_story_sources') }}

),

credal_sets as (

    select * from {{ ref('fct_credal_sets') }}

),

language_model_traits as (

    select * from {{ ref('language_model_traits') }}

),

configurations as (

    select
        credal_overlaps.*,
        credal_sets.hull_volume,
        story_sources.language_model_name,
        story_sources.decoding_strategy_name,
        language_model_traits.parameter_count_billions,
        language_model_traits.is_instruction_tuned

    from credal_overlaps

    inner join story_sources
        on
            credal_overlaps.study_name = story_sources.study_name
            and credal_overlaps.story_source_name = story_sources.story_source_name

    -- A hull grows with n: its volume stands beside the others where all of its prompts are shared.
    left join credal_sets
        on
            credal_overlaps.study_name = credal_sets.study_name
            and credal_overlaps.shared_prompt_count = credal_sets.prompt_count
            and credal_overlaps.story_source_name = credal_sets.story_source_name
            and credal_overlaps.coordinate_frame = credal_sets.coordinate_frame
            and credal_overlaps.axes = credal_sets.axes

    left join language_model_traits
        on story_sources.language_model_name = language_model_traits.language_model_name

),

calibrations_unpivoted as (

    {% for measure_name in summarized_measures() %}
        select
            study_name,
            coordinate_frame,
            axes,
            '{{ measure_name }}' as measure_name,
            story_source_name,
            language_model_name,
            decoding_strategy_name,
            {{ strategy_type('decoding_strategy_name') }} as strategy_type_name,
            parameter_count_billions,
            is_instruction_tuned,
            {{ measure_name }} as measure_value,
            wasserstein_mean

        from configurations

        where {{ measure_name }} is not null

        {{ 'union all' if not loop.last }}

    {% endfor %}
)

select * from calibrations_unpivoted
