with

fact_probes as (

    select * from {{ source('raw', 'fact_probes') }}

),

renamed as (

    select
        scoring_id,
        token_index,
        mention_count

    from fact_probes

)

select * from renamed
