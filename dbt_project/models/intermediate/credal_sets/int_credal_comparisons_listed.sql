with

stories as (

    select * from {{ ref('stg_raw__stories') }}

),

diversity_vectors as (

    select * from {{ ref('int_diversity_vectors_unioned') }}

),

axis_scales as (

    select * from {{ ref('int_axis_scales_fitted') }}

),

story_sources as (

    select
        study_name,
        story_source_name,
        story_kind

    from stories

    union distinct

    select
        study_name,
        story_source_name,
        story_kind

    from diversity_vectors

),

human_sides as (

    select
        story_sources.study_name,
        bool_or(story_sources.story_kind = 'human') as has_human_stories,
        coalesce(bool_or(axis_scales.coordinate_frame = 'human_z'), false) as has_human_vectors

    from story_sources

    left join axis_scales
        on
            story_sources.study_name = axis_scales.study_name
            and axis_scales.coordinate_frame = 'human_z'

    group by 1

),

coordinate_frames as (

    select unnest(['pooled_z', 'human_z', 'self_z', 'raw']) as coordinate_frame

),

axes_sets as (

    select
        unnest(['semantic_lexical_syntactic', 'semantic_lexical']) as axes,
        unnest([3, 2]) as axis_count

),

credal_comparisons_listed as (

    select
        story_sources.study_name,
        story_sources.story_source_name,
        coordinate_frames.coordinate_frame,
        axes_sets.axes,
        axes_sets.axis_count,
        human_sides.has_human_stories,
        human_sides.has_human_vectors

    from story_sources

    inner join human_sides
        on story_sources.study_name = human_sides.study_name

    cross join coordinate_frames

    cross join axes_sets

    where story_sources.story_kind = 'generated'

)

select * from credal_comparisons_listed
