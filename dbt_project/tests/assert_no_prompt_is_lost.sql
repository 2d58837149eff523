-- A returned row is a prompt that people answered and that a selection neither kept nor rejected.
with

prompts as (

    select * from {{ ref('dim_prompts') }}

),

rejects as (

    select * from {{ ref('fct_rejects') }}

),

studies as (

    select * from {{ ref('dim_studies') }}

),

lost_prompts as (

    select
        prompts.study_name,
        prompts.prompt_id

    from prompts

    inner join studies
        on prompts.study_name = studies.study_name

    anti join rejects
        on
            prompts.study_name = rejects.study_name
            and prompts.prompt_id = rejects.prompt_id
            and rejects.reject_kind = 'prompt'

    where
        studies.selection_id is not null
        and prompts.human_story_count > 0
        and not prompts.is_selected

)

select * from lost_prompts
