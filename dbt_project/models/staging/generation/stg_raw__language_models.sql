with

source as (

    select * from {{ source('raw', 'language_models') }}

),

renamed as (

    select
        language_model_id,
        language_model_name,
        weights_name,
        language_model_revision,
        weights_sha256,
        tokenizer_sha256,
        quantization,
        dtype_name,
        template_name,
        template_sha256,
        template_text,
        backend_name,
        parameter_count,
        context_tokens

    from source

)

select * from renamed
