with

publications as (

    select * from {{ ref('stg_raw__publications') }}

),

dim_publications as (

    select
        publication_id,
        published_at,
        raw_state_id,
        build_code_id,
        code_commit,
        package_versions_json,
        cast(row_number() over (order by published_at, publication_id) as integer)
            as publication_number

    from publications

    order by published_at, publication_id

)

select * from dim_publications
