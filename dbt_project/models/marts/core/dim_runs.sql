with

runs as (

    select * from {{ ref('stg_raw__runs') }}

),

dim_runs as (

    select
        run_id,
        study_name,
        command,
        run_status,
        started_at,
        finished_at,
        date_diff('millisecond', started_at, finished_at) / 1000.0 as wall_seconds,
        detail,
        code_commit,
        package_versions_json

    from runs

    order by started_at, run_id

)

select * from dim_runs
