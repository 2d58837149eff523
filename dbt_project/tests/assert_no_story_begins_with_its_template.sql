-- A returned row is a generated story that begins with the frame of its prompt: it was cut in the
-- wrong place. The frame's first line is compared, with the prompt in it; where that is the prompt
-- alone, a language model may as well have repeated it.
with

stories as (

    select * from {{ ref('fct_stories') }}

),

prompts as (

    select * from {{ ref('dim_prompts') }}

),

language_models as (

    select * from {{ ref('dim_language_models') }}

),

stories_with_their_frame as (

    select
        stories.study_name,
        stories.story_id,
        stories.story_text,
        prompts.prompt_text,
        replace(
            split_part(language_models.template_text, chr(10), 1), '{prompt}', prompts.prompt_text
        ) as first_line

    from stories

    inner join prompts
        on
            stories.study_name = prompts.study_name
            and stories.prompt_id = prompts.prompt_id

    inner join language_models
        on
            stories.study_name = language_models.study_name
            and stories.language_model_id = language_models.language_model_id

),

wrongly_cut_stories as (

    select
        study_name,
        story_id,
        story_text

    from stories_with_their_frame

    where
        first_line != prompt_text
        and starts_with(ltrim(story_text), first_line)

)

select * from wrongly_cut_stories
