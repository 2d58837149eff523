-- A returned row is a generated story that begins with its own prompt. Stories are cut by token
-- index, so it is the language model that repeats the prompt: worth knowing, and no fault of the
-- warehouse, hence a warning.
{{ config(severity='warn') }}

with

stories as (

    select * from {{ ref('fct_stories') }}

),

prompts as (

    select * from {{ ref('dim_prompts') }}

),

repeating_stories as (

    select
        stories.study_name,
        stories.story_id,
        stories.story_text

    from stories

    inner join prompts
        on
            stories.study_name = prompts.study_name
            and stories.prompt_id = prompts.prompt_id

    where
        stories.language_model_id is not null
        and starts_with(ltrim(stories.story_text), prompts.prompt_text)

)

select * from repeating_stories
