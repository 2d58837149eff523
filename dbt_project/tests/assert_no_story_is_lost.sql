-- A returned row is a story of the ledger that takes no part and has no reject: a human one that a
-- selection neither drew nor rejected, or a sample whose absence nothing explains.
with

stories as (

    select * from {{ ref('fct_stories') }}

),

rejects as (

    select * from {{ ref('fct_rejects') }}

),

studies as (

    select * from {{ ref('dim_studies') }}

),

lost_stories as (

    select
        stories.study_name,
        stories.story_id,
        stories.story_kind,
        stories.story_status

    from stories

    inner join studies
        on stories.study_name = studies.study_name

    left join rejects
        on
            stories.study_name = rejects.study_name
            and stories.story_id = rejects.story_id

    where
        not stories.is_selected
        and rejects.reject_id is null
        and (stories.story_kind = 'generated' or studies.selection_id is not null)

)

select * from lost_stories
