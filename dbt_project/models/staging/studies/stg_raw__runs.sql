with

source as (

    select * from {{ source('raw', 'runs') }}

),

renamed as (

    select
        run_id,
        command,
        study_name,
        started_at,
        finished_at,
        status as run_status,
        detail,
        code_commit,
        package_versions_json

    from source

)

select * from renamed
