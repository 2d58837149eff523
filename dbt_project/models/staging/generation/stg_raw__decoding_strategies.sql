with

source as (

    select * from {{ source('raw', 'decoding_strategies') }}

),

renamed as (

    select
        decoding_strategy_id,
        decoding_strategy_name,
        sampling_temperature,
        top_k,
        nucleus_mass,
        typical_mass

    from source

)

select * from renamed
