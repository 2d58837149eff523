with

filings as (

    select * from {{ source('raw', 'filings') }}

),

ingests as (

    select * from {{ source('raw', 'ingests') }}

),

finished_filings as (

    select filings.*

    from filings

    inner join ingests
        on filings.ingest_id = ingests.ingest_id

    where ingests.status = 'done'

),

-- A company or a year that EDGAR had no annual report of, until it had one.
outdated_absences as (

    select
        absences.study_name,
        absences.test_set_name,
        absences.filing_id

    from finished_filings as absences

    inner join finished_filings as found
        on
            absences.study_name = found.study_name
            and absences.test_set_name = found.test_set_name
            and absences.cik = found.cik
            and absences.fiscal_year = found.fiscal_year

    where
        absences.item_7_status = 'missing'
        and absences.accession_number is null
        and absences.form_name is null
        and absences.filing_character_count = 0
        and found.accession_number is not null

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

    from finished_filings as filings

    anti join outdated_absences
        on
            filings.study_name = outdated_absences.study_name
            and filings.test_set_name = outdated_absences.test_set_name
            and filings.filing_id = outdated_absences.filing_id

)

select * from renamed
