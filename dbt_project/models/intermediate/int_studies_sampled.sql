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
        max(sample_index) as largest_sample_index

    from stories

    where story_kind = 'generated'

    group by 1

),

studies_sampled as (

    select
        studies.study_name,
        -- Where nobody said how many were asked for, the largest index seen says it.
        coalesce(
            studies.samples_per_prompt, largest_sample_indices.largest_sample_index + 1
        ) as samples_per_prompt

    from studies

    left join largest_sample_indices
        on studies.study_name = largest_sample_indices.study_name

)

select * from studies_sampled
