with

scorings as (

    select * from {{ source('raw', 'scorings') }}

),

ingests as (

    select * from {{ source('raw', 'ingests') }}

),

renamed as (

    select
        scorings.scoring_id,
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        scorings.outcome_count,
        scorings.ingest_id,
        scorings.file_name,
        scorings.language_model_id,
        scorings.window_tokens,
        scorings.overlap_tokens,
        ingests.ingest_kind = 'forecasts' as is_imported

    from scorings

    inner join ingests
        on scorings.ingest_id = ingests.ingest_id

    where ingests.status = 'done'

)

select * from renamed
