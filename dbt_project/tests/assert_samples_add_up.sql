-- A returned row is a set of samples of which some are neither in the ledger nor among the missing.
with

stories as (

    select * from {{ ref('fct_stories') }}

),

samples_missed as (

    select * from {{ ref('int_samples_missed') }}

),

story_sources_sampled as (

    select * from {{ ref('int_story_sources_sampled') }}

),

samples as (

    select
        study_name,
        prompt_id,
        story_source_name,
        sample_index

    from stories

    where story_kind = 'generated'

    union all

    select
        study_name,
        prompt_id,
        story_source_name,
        sample_index

    from samples_missed

),

sets_that_do_not_add_up as (

    select
        samples.study_name,
        samples.prompt_id,
        samples.story_source_name,
        count(distinct samples.sample_index) as sample_count

    from samples

    inner join story_sources_sampled
        on
            samples.study_name = story_sources_sampled.study_name
            and samples.story_source_name = story_sources_sampled.story_source_name

    where
        samples.sample_index
        < story_sources_sampled.first_sample_index + story_sources_sampled.samples_per_prompt

    group by 1, 2, 3

    having
        count(distinct samples.sample_index) != min(story_sources_sampled.samples_per_prompt)

)

select * from sets_that_do_not_add_up
