with

semantic as (

    select * from {{ ref('int_semantic_diversity_computed') }}

),

lexical as (

    select * from {{ ref('int_lexical_diversity_computed') }}

),

syntactic as (

    select * from {{ ref('int_syntactic_diversity_computed') }}

),

text_cut_diversities_joined as (

    select
        semantic.study_name,
        semantic.prompt_id,
        semantic.story_source_name,
        semantic.text_cut,
        semantic.semantic_diversity,
        lexical.lexical_diversity,
        syntactic.syntactic_diversity

    from semantic

    inner join lexical
        on
            semantic.study_name = lexical.study_name
            and semantic.prompt_id = lexical.prompt_id
            and semantic.story_source_name = lexical.story_source_name
            and semantic.text_cut = lexical.text_cut

    inner join syntactic
        on
            semantic.study_name = syntactic.study_name
            and semantic.prompt_id = syntactic.prompt_id
            and semantic.story_source_name = syntactic.story_source_name
            and semantic.text_cut = syntactic.text_cut

)

select * from text_cut_diversities_joined
