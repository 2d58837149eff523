with

language_models as (

    select * from {{ ref('stg_raw__language_models') }}

),

stories as (

    select * from {{ ref('stg_raw__stories') }}

),

story_counts as (

    select
        study_name,
        language_model_id,
        cast(count(*) as integer) as story_count

    from stories

    where language_model_id is not null

    group by 1, 2

),

dim_language_models as (

    select
        story_counts.study_name,
        story_counts.language_model_id,
        language_models.language_model_name,
        language_models.weights_name,
        language_models.language_model_revision,
        language_models.weights_sha256,
        language_models.tokenizer_sha256,
        language_models.quantization,
        language_models.dtype_name,
        language_models.backend_name,
        language_models.template_name,
        language_models.template_sha256,
        language_models.template_text,
        language_models.parameter_count,
        language_models.context_tokens,
        story_counts.story_count

    from story_counts

    inner join language_models
        on story_counts.language_model_id = language_models.language_model_id

    order by story_counts.study_name, story_counts.language_model_id

)

select * from dim_language_models
