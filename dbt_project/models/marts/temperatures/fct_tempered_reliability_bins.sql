with

tempered_bins as (

    select * from {{ ref('int_tempered_bins_counted') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

fct_tempered_reliability_bins as (

    select
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        tempered_bins.applied_temperature,
        tempered_bins.bin_count,
        tempered_bins.bin_index,
        tempered_bins.bin_index / tempered_bins.bin_count as lower_edge,
        (tempered_bins.bin_index + 1) / tempered_bins.bin_count as upper_edge,
        tempered_bins.token_count,
        tempered_bins.hit_count,
        tempered_bins.confidence_sum,
        tempered_bins.variance_sum,
        tempered_bins.confidence_sum / tempered_bins.token_count as mean_confidence,
        tempered_bins.hit_count / tempered_bins.token_count as accuracy,
        (tempered_bins.hit_count - tempered_bins.confidence_sum) / tempered_bins.token_count
            as gap,
        '{{ var("definition_version") }}' as definition_version

    from tempered_bins

    inner join scorings
        on tempered_bins.scoring_id = scorings.scoring_id

    order by
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        tempered_bins.applied_temperature,
        tempered_bins.bin_count,
        tempered_bins.bin_index

)

select * from fct_tempered_reliability_bins
