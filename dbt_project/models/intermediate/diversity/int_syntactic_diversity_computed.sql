with

story_cuts as (

    select * from {{ ref('int_story_cuts_measured') }}

),

studies as (

    select * from {{ ref('stg_raw__studies') }}

),

text_pos_bigrams as (

    select * from {{ ref('stg_raw__text_pos_bigrams') }}

),

syntactic_diversity_computed as (

    select
        story_cuts.study_name,
        story_cuts.prompt_id,
        story_cuts.story_source_name,
        story_cuts.text_cut,
        mean_pairwise_jaccard_distance(
            list(text_pos_bigrams.pos_bigrams order by story_cuts.story_id)
        ) as syntactic_diversity

    from story_cuts

    inner join studies
        on story_cuts.study_name = studies.study_name

    inner join text_pos_bigrams
        on
            story_cuts.text_id = text_pos_bigrams.text_id
            and story_cuts.word_limit = text_pos_bigrams.word_limit
            and studies.tagging_model_name = text_pos_bigrams.tagging_model_name
            and studies.tagging_max_characters = text_pos_bigrams.tagging_max_characters

    where story_cuts.is_measured

    group by 1, 2, 3, 4

)

select * from syntactic_diversity_computed
