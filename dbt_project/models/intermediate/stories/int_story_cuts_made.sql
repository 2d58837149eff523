with

stories as (

    select * from {{ ref('int_stories_selected') }}

),

prompts_cut as (

    select * from {{ ref('int_prompts_cut') }}

),

whole_stories as (

    select
        study_name,
        prompt_id,
        story_source_name,
        story_id,
        text_id,
        'whole' as text_cut,
        -- 0 is how the raw tables say that nothing was cut off.
        0 as word_limit

    from stories

    where is_selected

),

common_stories as (

    select
        stories.study_name,
        stories.prompt_id,
        stories.story_source_name,
        stories.story_id,
        stories.text_id,
        'common' as text_cut,
        prompts_cut.common_word_count as word_limit

    from stories

    inner join prompts_cut
        on
            stories.study_name = prompts_cut.study_name
            and stories.prompt_id = prompts_cut.prompt_id

    where
        stories.is_selected
        and stories.word_count >= prompts_cut.common_word_count

),

story_cuts_made as (

    select * from whole_stories

    union all

    select * from common_stories

)

select * from story_cuts_made
