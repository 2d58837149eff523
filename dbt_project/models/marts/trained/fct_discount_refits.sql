with

trained_fits as (

    select * from {{ ref('int_trained_fits_joined') }}

),

ranges as (

    select * from {{ ref('int_confidence_ranges_summed') }}

),

fct_discount_refits as (

    select
        trained_fits.study_name,
        trained_fits.test_set_name,
        trained_fits.language_model_name,
        trained_fits.discount_factor,
        trained_fits.is_capped,
        trained_fits.trigram_discount,
        trained_fits.bigram_discount,
        trained_fits.unigram_discount,
        trained_fits.outcome_count,
        trained_fits.token_count,
        trained_fits.mean_confidence,
        trained_fits.accuracy,
        trained_fits.fit_status,
        trained_fits.fitted_temperature,
        trained_fits.temperature_gain_nats,
        trained_fits.row_rank_correlation,
        ranges.token_count_third_to_0_6,
        ranges.gap_third_to_0_6,
        ranges.token_count_above_two_thirds,
        ranges.gap_above_two_thirds,
        '{{ var("definition_version") }}' as definition_version

    from trained_fits

    inner join ranges
        on trained_fits.scoring_id = ranges.scoring_id

    where
        trained_fits.language_model_kind = 'kneser_ney_trigram'
        and trained_fits.token_group = 'all'

    order by
        trained_fits.study_name,
        trained_fits.test_set_name,
        trained_fits.language_model_name

)

select * from fct_discount_refits
