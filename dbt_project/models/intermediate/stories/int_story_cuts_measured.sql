with

story_cuts as (

    select * from {{ ref('int_story_cuts_made') }}

),

studies as (

    select * from {{ ref('stg_raw__studies') }}

),

text_embeddings as (

    select * from {{ ref('stg_raw__text_embeddings') }}

),

text_word_sets as (

    select * from {{ ref('stg_raw__text_word_sets') }}

),

text_pos_bigrams as (

    select * from {{ ref('stg_raw__text_pos_bigrams') }}

),

story_cuts_measured as (

    select
        story_cuts.study_name,
        story_cuts.prompt_id,
        story_cuts.story_source_name,
        story_cuts.story_id,
        story_cuts.text_id,
        story_cuts.text_cut,
        story_cuts.word_limit,
        text_embeddings.embedded_tokens,
        text_embeddings.truncated_tokens,
        text_pos_bigrams.tagged_characters,
        text_pos_bigrams.truncated_characters,
        (
            text_embeddings.text_id is not null
            and text_word_sets.text_id is not null
            and text_pos_bigrams.text_id is not null
        ) as is_measured

    from story_cuts

    inner join studies
        on story_cuts.study_name = studies.study_name

    left join text_embeddings
        on
            story_cuts.text_id = text_embeddings.text_id
            and story_cuts.word_limit = text_embeddings.word_limit
            and studies.embedding_model_name = text_embeddings.embedding_model_name
            and studies.embedding_max_tokens = text_embeddings.embedding_max_tokens

    left join text_word_sets
        on
            story_cuts.text_id = text_word_sets.text_id
            and story_cuts.word_limit = text_word_sets.word_limit

    left join text_pos_bigrams
        on
            story_cuts.text_id = text_pos_bigrams.text_id
            and story_cuts.word_limit = text_pos_bigrams.word_limit
            and studies.tagging_model_name = text_pos_bigrams.tagging_model_name
            and studies.tagging_max_characters = text_pos_bigrams.tagging_max_characters

)

select * from story_cuts_measured
