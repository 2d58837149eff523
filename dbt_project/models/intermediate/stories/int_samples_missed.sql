with

stories as (

    select * from {{ ref('int_stories_selected') }}

),

generation_requests as (

    select * from {{ ref('stg_raw__generation_requests') }}

),

story_sources_sampled as (

    select * from {{ ref('int_story_sources_sampled') }}

),

answered_prompts as (

    select distinct
        study_name,
        prompt_id,
        story_source_name

    from stories

    where story_kind = 'generated'

),

asked_prompts as (

    select distinct
        study_name,
        prompt_id

    from answered_prompts

),

-- A study that states its samples asks every prompt of every imported story source; else a prompt
-- was asked for certain only of those that answered it. Stories generated here were asked for one
-- prompt at a time.
requested_sets as (

    select
        story_sources_sampled.*,
        asked_prompts.prompt_id

    from story_sources_sampled

    inner join asked_prompts
        on story_sources_sampled.study_name = asked_prompts.study_name

    where story_sources_sampled.is_stated

    union all

    select
        story_sources_sampled.*,
        answered_prompts.prompt_id

    from story_sources_sampled

    inner join answered_prompts
        on
            story_sources_sampled.study_name = answered_prompts.study_name
            and story_sources_sampled.story_source_name = answered_prompts.story_source_name

    where not (story_sources_sampled.is_stated or story_sources_sampled.is_requested)

),

requested_samples as (

    select
        study_name,
        prompt_id,
        story_source_name,
        cast(
            unnest(range(first_sample_index, first_sample_index + samples_per_prompt)) as integer
        ) as sample_index

    from requested_sets

    union all

    select
        study_name,
        prompt_id,
        story_source_name,
        cast(unnest(range(samples_per_prompt)) as integer) as sample_index

    from generation_requests

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
