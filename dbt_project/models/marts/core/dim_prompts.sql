with

prompts as (

    select * from {{ ref('stg_raw__prompts') }}

),

stories as (

    select * from {{ ref('int_stories_selected') }}

),

prompts_cut as (

    select * from {{ ref('int_prompts_cut') }}

),

studies as (

    select * from {{ ref('stg_raw__studies') }}

),

story_selections as (

    select * from {{ ref('stg_raw__story_selections') }}

),

selected_prompts as (

    select distinct
        story_selections.study_name,
        story_selections.prompt_id,
        story_selections.prompt_rank,
        story_selections.story_length_sd_tokens

    from story_selections

    inner join studies
        on
            story_selections.study_name = studies.study_name
            and story_selections.selection_id = studies.selection_id

),

story_counts as (

    select
        study_name,
        prompt_id,
        cast(count(*) filter (where story_kind = 'human') as integer) as human_story_count,
        cast(count(*) filter (where story_kind = 'generated') as integer) as generated_story_count

    from stories

    group by 1, 2

),

dim_prompts as (

    select
        prompts.study_name,
        prompts.prompt_id,
        prompts.source_prompt_id,
        prompts.prompt_text,
        prompts.prompt_character_count,
        selected_prompts.prompt_id is not null as is_selected,
        selected_prompts.prompt_rank,
        selected_prompts.story_length_sd_tokens,
        coalesce(story_counts.human_story_count, 0) as human_story_count,
        coalesce(story_counts.generated_story_count, 0) as generated_story_count,
        prompts_cut.common_word_count

    from prompts

    left join selected_prompts
        on
            prompts.study_name = selected_prompts.study_name
            and prompts.prompt_id = selected_prompts.prompt_id

    left join story_counts
        on
            prompts.study_name = story_counts.study_name
            and prompts.prompt_id = story_counts.prompt_id

    left join prompts_cut
        on
            prompts.study_name = prompts_cut.study_name
            and prompts.prompt_id = prompts_cut.prompt_id

    order by prompts.study_name, prompts.prompt_id

)

select * from dim_prompts
