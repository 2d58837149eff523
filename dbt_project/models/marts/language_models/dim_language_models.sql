with

language_models as (

    select * from {{ ref('stg_raw__language_models') }}

),

stories as (

    select * from {{ ref('stg_raw__stories') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

uses as (

    select
        study_name,
        language_model_id,
        1 as story_count,
        null as test_set_name

    from stories

    union all

    select
        study_name,
        language_model_id,
        0 as story_count,
        test_set_name

    from scorings

),

use_counts as (

    select
        study_name,
        language_model_id,
        cast(sum(story_count) as integer) as story_count,
        cast(count(distinct test_set_name) as integer) as test_set_count

    from uses

    where language_model_id is not null

    group by 1, 2

),

dim_language_models as (

    select
        use_counts.study_name,
        use_counts.language_model_id,
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
        use_counts.story_count,
        use_counts.test_set_count

    from use_counts

    inner join language_models
        on use_counts.language_model_id = language_models.language_model_id

    order by use_counts.study_name, use_counts.language_model_id

)

select * from dim_language_models
