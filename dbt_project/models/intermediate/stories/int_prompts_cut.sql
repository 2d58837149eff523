with

stories as (

    select * from {{ ref('int_stories_selected') }}

),

studies as (

    select * from {{ ref('stg_raw__studies') }}

),

shortest_stories as (

    select
        study_name,
        prompt_id,
        min(word_count) as smallest_word_count

    from stories

    where is_selected

    group by 1, 2

),

prompts_cut as (

    select
        shortest_stories.study_name,
        shortest_stories.prompt_id,
        -- The floor keeps one very short story from cutting all the others down to nothing.
        greatest(
            studies.minimum_common_words, shortest_stories.smallest_word_count
        ) as common_word_count

    from shortest_stories

    inner join studies
        on shortest_stories.study_name = studies.study_name

)

select * from prompts_cut
