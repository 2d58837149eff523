with

story_cuts as (

    select * from {{ ref('int_story_cuts_measured') }}

),

text_word_sets as (

    select * from {{ ref('stg_raw__text_word_sets') }}

),

lexical_diversity_computed as (

    select
        story_cuts.study_name,
        story_cuts.prompt_id,
        story_cuts.story_source_name,
        story_cuts.text_cut,
        mean_pairwise_jaccard_distance(
            list(text_word_sets.words order by story_cuts.story_id)
        ) as lexical_diversity

    from story_cuts

    inner join text_word_sets
        on
            story_cuts.text_id = text_word_sets.text_id
            and story_cuts.word_limit = text_word_sets.word_limit

    where story_cuts.is_measured

    group by 1, 2, 3, 4

)

select * from lexical_diversity_computed
