with

reliability_bins as (

    select * from {{ ref('int_reliability_bins_rolled_up') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

fct_reliability_bins as (

    select
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        reliability_bins.bin_count,
        reliability_bins.bin_index,
        reliability_bins.bin_index / reliability_bins.bin_count as lower_edge,
        (reliability_bins.bin_index + 1) / reliability_bins.bin_count as upper_edge,
        reliability_bins.token_count,
        reliability_bins.hit_count,
        reliability_bins.confidence_sum,
        reliability_bins.variance_sum,
        case
            when reliability_bins.token_count > 0
                then reliability_bins.confidence_sum / reliability_bins.token_count
        end as mean_confidence,
        case
            when reliability_bins.token_count > 0
                then reliability_bins.hit_count / reliability_bins.token_count
        end as accuracy,
        case
            when reliability_bins.token_count > 0
                then
                    (reliability_bins.hit_count - reliability_bins.confidence_sum)
                    / reliability_bins.token_count
        end as gap,
        '{{ var("definition_version") }}' as definition_version

    from reliability_bins

    inner join scorings
        on reliability_bins.scoring_id = scorings.scoring_id

    order by
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        reliability_bins.bin_count,
        reliability_bins.bin_index

)

select * from fct_reliability_bins
