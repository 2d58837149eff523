with

source as (

    select * from {{ source('raw', 'publications') }}

),

renamed as (

    select
        publication_id,
        published_at,
        raw_state_id,
        code_commit,
        package_versions_json,
        build_code_id,
        status as publication_status

    from source

)

select * from renamed
