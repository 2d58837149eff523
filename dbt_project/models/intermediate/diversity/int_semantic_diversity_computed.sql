with

story_cuts as (

    select * from {{ ref('int_story_cuts_measured') }}

),

studies as (

    select * from {{ ref('stg_raw__studies') }}

),

text_embeddings as (

    select * from {{ ref('stg_raw__text_embeddings') }}

),

semantic_diversity_computed as (

    select
        story_cuts.study_name,
        story_cuts.prompt_id,
        story_cuts.story_source_name,
        story_cuts.text_cut,
        mean_pairwise_cosine_distance(
            list(text_embeddings.embedding order by story_cuts.story_id)
        ) as semantic_diversity

    from story_cuts

    inner join studies
        on story_cuts.study_name = studies.study_name

    inner join text_embeddings
        on
            story_cuts.text_id = text_embeddings.text_id
            and story_cuts.word_limit = text_embeddings.word_limit
            and studies.embedding_model_name = text_embeddings.embedding_model_name
            and studies.embedding_max_tokens = text_embeddings.embedding_max_tokens

    where story_cuts.is_measured

    group by 1, 2, 3, 4

)

select * from semantic_diversity_computed
