with

filings as (

    select * from {{ source('raw', 'filings') }}

),

ingests as (

    select * from {{ source('raw', 'ingests') }}

),

renamed as (

    select
        filings.study_name,
        filings.test_set_name,
        filings.filing_id,
        filings.accession_number,
        filings.cik,
        filings.form_name,
        filings.period_of_report,
        filings.fiscal_year,
        filings.item_7_status,
        filings.reason,
        filings.filing_character_count,
        filings.item_7_character_count,
        filings.has_tables,
        filings.document_id,
        filings.file_name,
        filings.line_number,
        filings.ingest_id

    from filings

    inner join ingests
        on filings.ingest_id = ingests.ingest_id

    where ingests.status = 'done'

)

select * from renamed
