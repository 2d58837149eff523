with

diversity_vectors as (

    select * from {{ ref('int_diversity_vectors_unioned') }}

),

complete_vectors as (

    select *

    from diversity_vectors

    where
        semantic_diversity is not null
        and lexical_diversity is not null
        and syntactic_diversity is not null

),

-- The human set enters the pooled scale once, as every other story source does.
fitted_vectors as (

    select
        'pooled_z' as coordinate_frame,
        'all' as fitted_on,
        complete_vectors.*

    from complete_vectors

    union all

    select
        'human_z' as coordinate_frame,
        'human' as fitted_on,
        complete_vectors.*

    from complete_vectors

    where story_source_name = 'human'

    union all

    select
        'self_z' as coordinate_frame,
        story_source_name as fitted_on,
        complete_vectors.*

    from complete_vectors

),

axis_scales_fitted as (

    select
        study_name,
        coordinate_frame,
        fitted_on,
        cast(count(*) as integer) as vector_count,
        axis_scale(
            list(semantic_diversity order by story_source_name, prompt_id)
        ) as semantic_scale,
        axis_scale(
            list(lexical_diversity order by story_source_name, prompt_id)
        ) as lexical_scale,
        axis_scale(
            list(syntactic_diversity order by story_source_name, prompt_id)
        ) as syntactic_scale

    from fitted_vectors

    group by 1, 2, 3

)

select * from axis_scales_fitted
