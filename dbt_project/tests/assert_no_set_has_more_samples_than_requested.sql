-- A returned row is a set of generated samples that is larger than anyone asked for, or that nobody
-- asked for at all.
with

stories as (

    select * from {{ ref('fct_stories') }}

),

generation_requests as (

    select * from {{ ref('stg_raw__generation_requests') }}

),

set_sizes as (

    select
        study_name,
        prompt_id,
        story_source_name,
        count(*) as story_count,
        max(sample_index) as largest_sample_index

    from stories

    where language_model_id is not null

    group by 1, 2, 3

),

sets_too_large as (

    select
        set_sizes.*,
        generation_requests.samples_per_prompt

    from set_sizes

    left join generation_requests
        on
            set_sizes.study_name = generation_requests.study_name
            and set_sizes.prompt_id = generation_requests.prompt_id
            and set_sizes.story_source_name = generation_requests.story_source_name

    where
        generation_requests.samples_per_prompt is null
        or set_sizes.story_count > generation_requests.samples_per_prompt
        or set_sizes.largest_sample_index >= generation_requests.samples_per_prompt

)

select * from sets_too_large
