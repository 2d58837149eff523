with

studies as (

    select * from {{ ref('stg_raw__studies') }}

),

stories as (

    select * from {{ ref('stg_raw__stories') }}

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

story_sources_sampled as (

    select
        largest_sample_indices.study_name,
        largest_sample_indices.story_source_name,
        -- Where the study does not say, only the story source itself can: others may have had more.
        coalesce(
            studies.samples_per_prompt,
            largest_sample_indices.largest_sample_index
            - largest_sample_indices.first_sample_index
            + 1
        ) as samples_per_prompt,
        largest_sample_indices.first_sample_index,
        studies.samples_per_prompt is not null as is_stated

    from largest_sample_indices

    inner join studies
        on largest_sample_indices.study_name = studies.study_name

)

select * from story_sources_sampled
