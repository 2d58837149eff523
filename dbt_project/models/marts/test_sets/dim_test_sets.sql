with

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

test_set_texts as (

    select * from {{ ref('stg_raw__test_set_texts') }}

),

scored_documents as (

    select * from {{ ref('stg_raw__scored_documents') }}

),

texts as (

    select * from {{ ref('stg_raw__texts') }}

),

text_test_sets as (

    select
        study_name,
        test_set_name,
        count(*) as text_count

    from test_set_texts

    group by 1, 2

),

documents as (

    select distinct
        scorings.study_name,
        scorings.test_set_name,
        scored_documents.document_id,
        texts.byte_count

    from scored_documents

    inner join scorings
        on scored_documents.scoring_id = scorings.scoring_id

    inner join texts
        on scored_documents.text_id = texts.text_id

),

document_counts as (

    select
        study_name,
        test_set_name,
        count(*) as document_count,
        sum(byte_count) as byte_count

    from documents

    group by 1, 2

),

scored_test_sets as (

    select
        study_name,
        test_set_name,
        bool_and(is_imported) as is_imported,
        count(*) as language_model_count

    from scorings

    group by 1, 2

),

test_set_names as (

    select
        study_name,
        test_set_name

    from text_test_sets

    union

    select
        study_name,
        test_set_name

    from scored_test_sets

),

dim_test_sets as (

    select
        test_set_names.study_name,
        test_set_names.test_set_name,
        case
            when text_test_sets.text_count is not null then 'texts'
            when scored_test_sets.is_imported then 'forecasts'
            else 'stories'
        end as test_set_kind,
        cast(coalesce(scored_test_sets.language_model_count, 0) as integer)
            as language_model_count,
        cast(text_test_sets.text_count as integer) as text_count,
        cast(document_counts.document_count as integer) as document_count,
        cast(document_counts.byte_count as bigint) as byte_count

    from test_set_names

    left join text_test_sets
        on
            test_set_names.study_name = text_test_sets.study_name
            and test_set_names.test_set_name = text_test_sets.test_set_name

    left join scored_test_sets
        on
            test_set_names.study_name = scored_test_sets.study_name
            and test_set_names.test_set_name = scored_test_sets.test_set_name

    left join document_counts
        on
            test_set_names.study_name = document_counts.study_name
            and test_set_names.test_set_name = document_counts.test_set_name

    order by test_set_names.study_name, test_set_names.test_set_name

)

select * from dim_test_sets
