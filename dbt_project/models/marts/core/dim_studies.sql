with

studies as (

    select * from {{ ref('stg_raw__studies') }}

),

prompts as (

    select * from {{ ref('stg_raw__prompts') }}

),

diversity_vectors as (

    select * from {{ ref('int_diversity_vectors_unioned') }}

),

prompt_counts as (

    select
        study_name,
        cast(count(*) as integer) as prompt_count

    from prompts

    group by 1

),

vector_counts as (

    select
        study_name,
        cast(count(distinct prompt_id) as integer) as vector_prompt_count,
        cast(count(distinct story_source_name) as integer) as story_source_count,
        bool_or(story_source_name = 'human') as has_human_set

    from diversity_vectors

    group by 1

),

dim_studies as (

    select
        studies.study_name,
        studies.study_file_name,
        coalesce(prompt_counts.prompt_count, 0) as prompt_count,
        coalesce(vector_counts.vector_prompt_count, 0) as vector_prompt_count,
        coalesce(vector_counts.story_source_count, 0) as story_source_count,
        coalesce(vector_counts.has_human_set, false) as has_human_set,
        studies.stories_per_prompt,
        studies.samples_per_prompt,
        studies.maximum_prompt_count,
        studies.minimum_prompt_characters,
        studies.maximum_prompt_characters,
        studies.minimum_story_tokens,
        studies.maximum_story_tokens,
        studies.tokenizer_name,
        studies.selection_seed,
        studies.selection_id,
        studies.embedding_model_name,
        studies.embedding_max_tokens,
        studies.tagging_model_name,
        studies.tagging_max_characters,
        studies.minimum_common_words,
        '{{ var("definition_version") }}' as definition_version,
        studies.settings_json

    from studies

    left join prompt_counts
        on studies.study_name = prompt_counts.study_name

    left join vector_counts
        on studies.study_name = vector_counts.study_name

    order by studies.study_name

)

select * from dim_studies
