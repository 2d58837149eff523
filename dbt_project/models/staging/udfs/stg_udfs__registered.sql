with

source as (

    select * from {{ source('udfs', 'registered') }}

),

renamed as (

    select
        udf_name,
        signature,
        parameter_types,
        return_type,
        meaning,
        module_name,
        code_modules,
        code_sha256,
        library_versions_json

    from source

)

select * from renamed
