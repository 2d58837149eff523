with

stories as (

    select * from {{ ref('int_stories_selected') }}

),

studies_sampled as (

    select * from {{ ref('int_studies_sampled') }}

),

-- Every prompt that people or any language model answered for the study was asked of all.
asked_prompts as (

    select distinct
        study_name,
        prompt_id

    from stories

    where
        story_kind = 'generated'
        or is_selected

),

generated_story_sources as (

    select distinct
        study_name,
        story_source_name

    from stories

    where story_kind = 'generated'

),

requested_samples as (

    select
        generated_story_sources.study_name,
        asked_prompts.prompt_id,
        generated_story_sources.story_source_name,
        cast(unnest(range(studies_sampled.samples_per_prompt)) as integer) as sample_index

    from generated_story_sources

    inner join asked_prompts
        on generated_story_sources.study_name = asked_prompts.study_name

    inner join studies_sampled
        on generated_story_sources.study_name = studies_sampled.study_name

),

samples_missed as (

    select requested_samples.*

    from requested_samples

    anti join stories
        on
            requested_samples.study_name = stories.study_name
            and requested_samples.prompt_id = stories.prompt_id
            and requested_samples.story_source_name = stories.story_source_name
            and requested_samples.sample_index = stories.sample_index

)

select * from samples_missed
