with

trained_fits as (

    select * from {{ ref('int_trained_fits_joined') }}

),

nuclei as (

    select * from {{ ref('int_nuclei_covered') }}

),

-- The best that any temperature shown reaches, at mass 0.9.
best_coverages as (

    select
        scoring_id,
        max(prediction_set_coverage) as highest_nucleus_coverage,
        any_value(coverage_ceiling) as coverage_ceiling

    from nuclei

    where nucleus_mass = 0.9

    group by 1

),

fct_unknown_words as (

    select
        whole.study_name,
        whole.test_set_name,
        whole.language_model_name,
        whole.token_count,
        1 - best_coverages.coverage_ceiling as unknown_share,
        whole.is_unknown_last,
        best_coverages.coverage_ceiling,
        best_coverages.highest_nucleus_coverage,
        whole.mean_confidence,
        whole.accuracy,
        known.mean_confidence as known_mean_confidence,
        known.accuracy as known_accuracy,
        whole.fitted_temperature,
        known.fitted_temperature as known_fitted_temperature,
        whole.temperature_gain_nats,
        whole.unknown_map_gain_nats,
        '{{ var("definition_version") }}' as definition_version

    from trained_fits as whole

    inner join best_coverages
        on whole.scoring_id = best_coverages.scoring_id

    left join trained_fits as known
        on whole.scoring_id = known.scoring_id and known.token_group = 'known_words'

    where
        whole.token_group = 'all'
        and whole.language_model_kind != 'fact_model'

    order by
        whole.study_name,
        whole.test_set_name,
        whole.language_model_name

)

select * from fct_unknown_words
