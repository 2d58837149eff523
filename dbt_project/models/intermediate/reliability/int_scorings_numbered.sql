with

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

scorings_numbered as (

    select
        scoring_id,
        cast(row_number() over (order by scoring_id) - 1 as integer) as scoring_index

    from scorings

)

select * from scorings_numbered
