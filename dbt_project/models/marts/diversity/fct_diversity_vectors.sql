with

diversity_vectors as (

    select * from {{ ref('int_diversity_vectors_unioned') }}

),

fct_diversity_vectors as (

    select
        diversity_vectors.study_name,
        diversity_vectors.prompt_id,
        diversity_vectors.story_source_name,
        diversity_vectors.story_kind,
        diversity_vectors.origin,
        diversity_vectors.semantic_diversity,
        diversity_vectors.lexical_diversity,
        diversity_vectors.syntactic_diversity,
        diversity_vectors.diversity_status,
        diversity_vectors.length_controlled_semantic_diversity,
        diversity_vectors.length_controlled_lexical_diversity,
        diversity_vectors.length_controlled_syntactic_diversity,
        diversity_vectors.length_controlled_status,
        diversity_vectors.requested_story_count,
        diversity_vectors.story_count,
        diversity_vectors.excluded_story_count,
        diversity_vectors.length_controlled_story_count,
        diversity_vectors.common_word_count,
        '{{ var("definition_version") }}' as definition_version

    from diversity_vectors

    order by
        diversity_vectors.study_name,
        diversity_vectors.story_source_name,
        diversity_vectors.prompt_id

)

select * from fct_diversity_vectors
