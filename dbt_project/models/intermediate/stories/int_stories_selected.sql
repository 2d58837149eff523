with

stories as (

    select * from {{ ref('stg_raw__stories') }}

),

texts as (

    select * from {{ ref('stg_raw__texts') }}

),

studies as (

    select * from {{ ref('stg_raw__studies') }}

),

story_selections as (

    select * from {{ ref('stg_raw__story_selections') }}

),

current_selections as (

    select
        story_selections.study_name,
        story_selections.story_id,
        story_selections.draw_index

    from story_selections

    inner join studies
        on
            story_selections.study_name = studies.study_name
            and story_selections.selection_id = studies.selection_id

),

stories_selected as (

    select
        stories.study_name,
        stories.story_id,
        stories.prompt_id,
        stories.text_id,
        stories.story_kind,
        stories.story_source_name,
        stories.sample_index,
        current_selections.draw_index,
        texts.word_count,
        -- People's stories take part when drawn, samples whenever they hold any text.
        case
            when stories.story_kind = 'human' then current_selections.story_id is not null
            else stories.text_id is not null and stories.story_status not in ('empty', 'failed')
        end as is_selected

    from stories

    left join texts
        on stories.text_id = texts.text_id

    left join current_selections
        on
            stories.study_name = current_selections.study_name
            and stories.story_id = current_selections.story_id

)

select * from stories_selected
