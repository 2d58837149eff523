-- A returned row is a text that enters a set's diversity more often than its story source wrote it.
with

stories as (

    select * from {{ ref('stg_raw__stories') }}

),

story_cuts as (

    select * from {{ ref('int_story_cuts_measured') }}

),

written as (

    select
        study_name,
        prompt_id,
        story_source_name,
        text_id,
        count(*) as written_count

    from stories

    where story_kind = 'generated'

    group by 1, 2, 3, 4

),

counted as (

    select
        stories.study_name,
        stories.prompt_id,
        stories.story_source_name,
        stories.text_id,
        count(*) as counted_count

    from story_cuts

    inner join stories
        on
            story_cuts.study_name = stories.study_name
            and story_cuts.story_id = stories.story_id

    where
        story_cuts.text_cut = 'whole'
        and stories.story_kind = 'generated'

    group by 1, 2, 3, 4

),

repeated_texts as (

    select
        counted.*,
        written.written_count

    from counted

    left join written
        on
            counted.study_name = written.study_name
            and counted.prompt_id = written.prompt_id
            and counted.story_source_name = written.story_source_name
            and counted.text_id = written.text_id

    where counted.counted_count > coalesce(written.written_count, 0)

)

select * from repeated_texts
