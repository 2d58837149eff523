{% set measured = "'definition_version', '" ~ var('definition_version') ~ "', "
    ~ "'embedding_model_name', studies.embedding_model_name, "
    ~ "'embedding_max_tokens', studies.embedding_max_tokens, "
    ~ "'tagging_model_name', studies.tagging_model_name, "
    ~ "'tagging_max_characters', studies.tagging_max_characters" %}

with

overlap_intervals as (

    select * from {{ ref('fct_credal_overlap_intervals') }}

),

human_ceilings as (

    select * from {{ ref('fct_human_ceilings') }}

),

samples as (

    select * from {{ ref('int_story_samples_identified') }}

),

studies as (

    select * from {{ ref('stg_raw__studies') }}

),

figures as (

    select
        study_name,
        'credal_overlap' as figure_kind,
        measure_name,
        story_source_name,
        coordinate_frame,
        axes,
        estimate as figure_value,
        {{ interval_sd('bootstrap_low', 'bootstrap_high') }} as noise_sd,
        'prompt_bootstrap' as noise_kind,
        cast(shared_prompt_count as bigint) as sample_count

    from overlap_intervals

    union all by name

    select
        study_name,
        'human_ceiling' as figure_kind,
        measure_name,
        'human' as story_source_name,
        coordinate_frame,
        axes,
        human_ceiling_mean as figure_value,
        {{ interval_sd('human_ceiling_low', 'human_ceiling_high') }} as noise_sd,
        'prompt_splits' as noise_kind,
        cast(human_prompt_count as bigint) as sample_count,
        split_count,
        split_seed

    from human_ceilings

),

story_figures_listed as (

    select
        figures.*,
        samples.sample_id,
        cast(
            json_object(
                {{ measured }},
                'split_count', figures.split_count,
                'split_seed', figures.split_seed
            ) as varchar
        ) as definition_json

    from figures

    inner join samples
        on
            figures.study_name = samples.study_name
            and figures.story_source_name = samples.story_source_name
            and figures.coordinate_frame = samples.coordinate_frame

    inner join studies
        on figures.study_name = studies.study_name

)

select * from story_figures_listed
