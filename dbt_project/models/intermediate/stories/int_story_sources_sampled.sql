with

studies as (

    select * from {{ ref('stg_raw__studies') }}

),

stories as (

    select * from {{ ref('stg_raw__stories') }}

),

generation_requests as (

    select * from {{ ref('stg_raw__generation_requests') }}

),

largest_sample_indices as (

    select
        study_name,
        story_source_name,
        -- Programs number samples from 0 or from 1.
        case when min(sample_index) = 1 then 1 else 0 end as first_sample_index,
        max(sample_index) as largest_sample_index

    from stories

    where story_kind = 'generated'

    group by 1, 2

),

requested_counts as (

    select
        study_name,
        story_source_name,
        max(samples_per_prompt) as samples_per_prompt

    from generation_requests

    group by 1, 2

),

counts as (

    select
        coalesce(largest_sample_indices.study_name, requested_counts.study_name) as study_name,
        coalesce(
            largest_sample_indices.story_source_name, requested_counts.story_source_name
        ) as story_source_name,
        largest_sample_indices.first_sample_index,
        largest_sample_indices.largest_sample_index,
        requested_counts.samples_per_prompt as requested_samples

    from largest_sample_indices

    full outer join requested_counts
        on
            largest_sample_indices.study_name = requested_counts.study_name
            and largest_sample_indices.story_source_name = requested_counts.story_source_name

),

story_sources_sampled as (

    select
        counts.study_name,
        counts.story_source_name,
        -- Where nobody says, only the story source itself can: others may have had more.
        coalesce(
            counts.requested_samples,
            studies.samples_per_prompt,
            counts.largest_sample_index - counts.first_sample_index + 1
        ) as samples_per_prompt,
        -- What is generated here is numbered from 0, whichever samples have come.
        case when counts.requested_samples is null then counts.first_sample_index else 0 end
            as first_sample_index,
        counts.requested_samples is null
        and studies.samples_per_prompt is not null as is_stated,
        counts.requested_samples is not null as is_requested

    from counts

    inner join studies
        on counts.study_name = studies.study_name

)

select * from story_sources_sampled
