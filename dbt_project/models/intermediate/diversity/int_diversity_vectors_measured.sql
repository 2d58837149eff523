with

story_sets as (

    select * from {{ ref('int_story_sets_counted') }}

),

text_cut_diversities as (

    select * from {{ ref('int_text_cut_diversities_joined') }}

),

prompts_cut as (

    select * from {{ ref('int_prompts_cut') }}

),

diversity_vectors_measured as (

    select
        story_sets.study_name,
        story_sets.prompt_id,
        story_sets.story_source_name,
        story_sets.story_kind,
        story_sets.requested_story_count,
        story_sets.story_count,
        story_sets.excluded_story_count,
        story_sets.length_controlled_story_count,
        prompts_cut.common_word_count,
        whole.semantic_diversity,
        whole.lexical_diversity,
        whole.syntactic_diversity,
        common.semantic_diversity as length_controlled_semantic_diversity,
        common.lexical_diversity as length_controlled_lexical_diversity,
        common.syntactic_diversity as length_controlled_syntactic_diversity,
        {{ diversity_status(
            'story_sets.story_count', 'story_sets.selected_story_count', 'whole'
        ) }} as diversity_status,
        {{ diversity_status(
            'story_sets.length_controlled_story_count',
            'story_sets.length_controlled_selected_count',
            'common',
        ) }} as length_controlled_status

    from story_sets

    left join prompts_cut
        on
            story_sets.study_name = prompts_cut.study_name
            and story_sets.prompt_id = prompts_cut.prompt_id

    -- A set with a story still to be measured has no vector: half a set is another set.
    left join text_cut_diversities as whole
        on
            story_sets.study_name = whole.study_name
            and story_sets.prompt_id = whole.prompt_id
            and story_sets.story_source_name = whole.story_source_name
            and story_sets.story_count = story_sets.selected_story_count
            and whole.text_cut = 'whole'

    left join text_cut_diversities as common
        on
            story_sets.study_name = common.study_name
            and story_sets.prompt_id = common.prompt_id
            and story_sets.story_source_name = common.story_source_name
            and story_sets.length_controlled_story_count
            = story_sets.length_controlled_selected_count
            and common.text_cut = 'common'

)

select * from diversity_vectors_measured
