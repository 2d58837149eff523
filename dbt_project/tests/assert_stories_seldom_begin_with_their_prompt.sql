-- A returned row is a story source generated here whose stories mostly begin with their prompt: the
-- prompt was not cut off. A language model that repeats a prompt now and then is no fault of the
-- warehouse; `fct_stories.begins_with_prompt` counts those. Under ten stories are too few to tell.
with

stories as (

    select * from {{ ref('fct_stories') }}

),

uncut_story_sources as (

    select
        study_name,
        story_source_name,
        count(*) as story_count

    from stories

    where
        language_model_id is not null
        and begins_with_prompt is not null

    group by study_name, story_source_name

    having
        count(*) >= 10
        and avg(cast(begins_with_prompt as integer)) > 0.5

)

select * from uncut_story_sources
