with

stories as (

    select * from {{ ref('stg_raw__stories') }}

),

stories_selected as (

    select * from {{ ref('int_stories_selected') }}

),

texts as (

    select * from {{ ref('stg_raw__texts') }}

),

samples_missed as (

    select * from {{ ref('int_samples_missed') }}

),

samples_out_of_their_set as (

    select
        stories.study_name,
        stories.prompt_id,
        stories.story_source_name,
        stories.sample_index,
        stories.story_id,
        stories.file_name,
        stories.line_number,
        case
            when stories.story_status = 'empty' then 'empty_sample'
            else 'failed_sample'
        end as reason,
        case
            when stories.story_status = 'empty'
                then
                    concat(
                        'holds no word in its ', coalesce(texts.character_count, 0), ' characters.'
                    )
            else concat('has status ', stories.story_status, ' and no text.')
        end as finding

    from stories

    inner join stories_selected
        on
            stories.study_name = stories_selected.study_name
            and stories.story_id = stories_selected.story_id

    left join texts
        on stories.text_id = texts.text_id

    where
        stories.story_kind = 'generated'
        and not stories_selected.is_selected

),

samples_rejected as (

    select
        study_name,
        prompt_id,
        story_source_name,
        sample_index,
        null as story_id,
        null as file_name,
        null as line_number,
        'missing_sample' as reason,
        'was asked for and never came.' as finding

    from samples_missed

    union all

    select * from samples_out_of_their_set

)

select * from samples_rejected
