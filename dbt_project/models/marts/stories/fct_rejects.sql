with

rejects as (

    select * from {{ ref('stg_raw__rejects') }}

),

derived_rejects as (

    select * from {{ ref('int_rejects_derived') }}

),

ingests as (

    select * from {{ ref('stg_raw__ingests') }}

),

studies as (

    select * from {{ ref('stg_raw__studies') }}

),

stories as (

    select * from {{ ref('stg_raw__stories') }}

),

-- What a finished ingest or the current selection left out; an earlier selection no longer counts.
current_rejects as (

    select
        rejects.*,
        -- A copy has the identity of the story that stays, which came from another place.
        (
            rejects.ingest_id is not null
            and stories.story_id is not null
            and (stories.file_name, stories.line_number)
            != (rejects.file_name, rejects.line_number)
        ) as is_copy

    from rejects

    left join ingests
        on rejects.ingest_id = ingests.ingest_id

    left join studies
        on
            rejects.study_name = studies.study_name
            and rejects.selection_id = studies.selection_id

    left join stories
        on
            rejects.study_name = stories.study_name
            and rejects.story_id = stories.story_id

    where
        (rejects.ingest_id is null or ingests.ingest_status = 'done')
        and (rejects.selection_id is null or studies.study_name is not null)

),

fct_rejects as (

    select
        reject_id,
        study_name,
        reject_kind,
        reason,
        detail,
        prompt_id,
        case when not is_copy then story_id end as story_id,
        case when is_copy then story_id end as kept_story_id,
        file_name,
        line_number

    from current_rejects

    union all

    select
        reject_id,
        study_name,
        reject_kind,
        reason,
        detail,
        prompt_id,
        story_id,
        null as kept_story_id,
        file_name,
        line_number

    from derived_rejects

    order by study_name, reject_id

)

select * from fct_rejects
