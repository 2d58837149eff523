with

diversity_vectors as (

    select * from {{ ref('int_diversity_vectors_unioned') }}

),

axis_scales as (

    select * from {{ ref('int_axis_scales_fitted') }}

),

raw_vectors as (

    select
        study_name,
        prompt_id,
        story_source_name,
        'raw' as coordinate_frame,
        semantic_diversity as semantic_coordinate,
        lexical_diversity as lexical_coordinate,
        syntactic_diversity as syntactic_coordinate

    from diversity_vectors

    where
        semantic_diversity is not null
        and lexical_diversity is not null
        and syntactic_diversity is not null

),

z_scored_vectors as (

    select
        raw_vectors.study_name,
        raw_vectors.prompt_id,
        raw_vectors.story_source_name,
        axis_scales.coordinate_frame,
        {{ z_score('raw_vectors.semantic_coordinate', 'axis_scales.semantic_scale') }}
            as semantic_coordinate,
        {{ z_score('raw_vectors.lexical_coordinate', 'axis_scales.lexical_scale') }}
            as lexical_coordinate,
        {{ z_score('raw_vectors.syntactic_coordinate', 'axis_scales.syntactic_scale') }}
            as syntactic_coordinate

    from raw_vectors

    inner join axis_scales
        on
            raw_vectors.study_name = axis_scales.study_name
            and (
                axis_scales.coordinate_frame != 'self_z'
                or raw_vectors.story_source_name = axis_scales.fitted_on
            )

),

diversity_vectors_scaled as (

    select * from raw_vectors

    union all

    select * from z_scored_vectors

)

select * from diversity_vectors_scaled
