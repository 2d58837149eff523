with

source as (

    select * from {{ source('raw', 'studies') }}

),

renamed as (

    select
        study_name,
        study_file_name,
        settings_json,
        stories_per_prompt,
        samples_per_prompt,
        prompt_count as maximum_prompt_count,
        minimum_prompt_characters,
        maximum_prompt_characters,
        minimum_story_tokens,
        maximum_story_tokens,
        tokenizer_name,
        selection_seed,
        selection_id,
        embedding_model_name,
        embedding_max_tokens,
        tagging_model_name,
        tagging_max_characters,
        minimum_common_words,
        definition_version

    from source

)

select * from renamed
