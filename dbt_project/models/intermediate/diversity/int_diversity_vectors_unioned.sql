with

measured_vectors as (

    select * from {{ ref('int_diversity_vectors_measured') }}

),

imported_vectors as (

    -- fct_rejects says which imported vectors gave way to measured ones.
    select *

    from {{ ref('int_imported_vectors_judged') }}

    where not is_superseded

),

kept_measured_vectors as (

    select measured_vectors.*

    from measured_vectors

    anti join imported_vectors
        on
            measured_vectors.study_name = imported_vectors.study_name
            and measured_vectors.prompt_id = imported_vectors.prompt_id
            and measured_vectors.story_source_name = imported_vectors.story_source_name

),

diversity_vectors_unioned as (

    select
        study_name,
        prompt_id,
        story_source_name,
        story_kind,
        'measured' as origin,
        semantic_diversity,
        lexical_diversity,
        syntactic_diversity,
        diversity_status,
        length_controlled_semantic_diversity,
        length_controlled_lexical_diversity,
        length_controlled_syntactic_diversity,
        length_controlled_status,
        requested_story_count,
        story_count,
        excluded_story_count,
        length_controlled_story_count,
        common_word_count

    from kept_measured_vectors

    union all

    select
        study_name,
        prompt_id,
        story_source_name,
        story_kind,
        'imported' as origin,
        semantic_diversity,
        lexical_diversity,
        syntactic_diversity,
        case
            when
                semantic_diversity is null
                or lexical_diversity is null
                or syntactic_diversity is null
                then 'not_measured'
            else 'ok'
        end as diversity_status,
        null as length_controlled_semantic_diversity,
        null as length_controlled_lexical_diversity,
        null as length_controlled_syntactic_diversity,
        'not_measured' as length_controlled_status,
        null as requested_story_count,
        story_count,
        null as excluded_story_count,
        null as length_controlled_story_count,
        null as common_word_count

    from imported_vectors

)

select * from diversity_vectors_unioned
