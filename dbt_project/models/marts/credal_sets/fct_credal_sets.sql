with

credal_points as (

    select * from {{ ref('int_credal_points_built') }}

),

diversity_vectors as (

    select * from {{ ref('int_diversity_vectors_unioned') }}

),

-- A vector of few stories is noisier than one of many, and may be a corner of its own.
set_sizes as (

    select
        study_name,
        story_source_name,
        cast(
            count(*) filter (
                where diversity_status in ('incomplete', 'more_than_requested')
            ) as integer
        ) as incomplete_prompt_count,
        cast(count(*) filter (where origin = 'imported') as integer) as imported_prompt_count,
        min(story_count) as smallest_story_count

    from diversity_vectors

    where
        semantic_diversity is not null
        and lexical_diversity is not null
        and syntactic_diversity is not null

    group by 1, 2

),

hulls as (

    select
        study_name,
        story_source_name,
        coordinate_frame,
        axes,
        axis_count,
        cast(count(*) as integer) as prompt_count,
        credal_set(list(point order by prompt_id)) as hull

    from credal_points

    group by 1, 2, 3, 4, 5

),

fct_credal_sets as (

    select
        hulls.study_name,
        hulls.story_source_name,
        hulls.coordinate_frame,
        hulls.axes,
        hulls.axis_count,
        hulls.prompt_count,
        set_sizes.incomplete_prompt_count,
        set_sizes.imported_prompt_count,
        set_sizes.smallest_story_count,
        hulls.hull.hull_rank,
        hulls.hull.hull_measure,
        hulls.hull.hull_volume,
        hulls.hull.is_degenerate,
        case
            when hulls.prompt_count <= hulls.axis_count then 'too_few_prompts'
            when hulls.hull.is_degenerate then 'flat'
            else 'ok'
        end as credal_set_status,
        hulls.hull.vertex_count,
        hulls.hull.vertices,
        hulls.hull.singular_values,
        hulls.hull.rank_tolerance,
        '{{ var("definition_version") }}' as definition_version

    from hulls

    left join set_sizes
        on
            hulls.study_name = set_sizes.study_name
            and hulls.story_source_name = set_sizes.story_source_name

    order by hulls.study_name, hulls.story_source_name, hulls.coordinate_frame, hulls.axes

)

select * from fct_credal_sets
