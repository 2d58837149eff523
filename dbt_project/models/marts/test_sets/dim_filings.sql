with

filings as (

    select * from {{ ref('stg_raw__filings') }}

),

dim_filings as (

    select
        study_name,
        test_set_name,
        filing_id,
        accession_number,
        cik,
        form_name,
        try_cast(try_strptime(period_of_report, '%Y%m%d') as date) as period_of_report,
        fiscal_year,
        item_7_status,
        reason,
        filing_character_count,
        item_7_character_count,
        has_tables,
        document_id,
        file_name,
        line_number

    from filings

    order by
        study_name,
        test_set_name,
        file_name,
        line_number,
        filing_id

)

select * from dim_filings
