with

registered_udfs as (

    select * from {{ ref('stg_udfs__registered') }}

),

calls as (

    {{ udf_calls() }}

),

callers as (

    select
        model_call[2] as udf_name,
        list(model_call[1] order by model_call[1]) as calling_models

    from calls

    group by 1

),

dim_udf_versions as (

    select
        registered_udfs.udf_name,
        registered_udfs.signature,
        registered_udfs.parameter_types,
        registered_udfs.return_type,
        registered_udfs.meaning,
        registered_udfs.module_name,
        registered_udfs.code_modules,
        registered_udfs.code_sha256,
        registered_udfs.library_versions_json,
        coalesce(callers.calling_models, []) as calling_models,
        '{{ var("definition_version") }}' as definition_version

    from registered_udfs

    left join callers
        on registered_udfs.udf_name = callers.udf_name

    order by registered_udfs.udf_name

)

select * from dim_udf_versions
