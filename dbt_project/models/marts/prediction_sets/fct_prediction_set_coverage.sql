with

nuclei as (

    select * from {{ ref('int_nuclei_covered') }}

),

conformal_sets as (

    select * from {{ ref('int_conformal_sets_covered') }}

),

log_losses as (

    select * from {{ ref('int_log_losses_summed') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

prediction_sets as (

    select
        *,
        'nucleus' as set_kind,
        nucleus_mass as target_coverage,
        'measured' as coverage_status

    from nuclei

    union all by name

    select
        *,
        1 - miscoverage_level as target_coverage,
        'measured' as coverage_status

    from conformal_sets

    union all by name

    select
        scoring_id,
        cast(1 as double) as applied_temperature,
        false as is_fitted_temperature,
        'nucleus' as set_kind,
        cast(0.9 as double) as nucleus_mass,
        0.9 as target_coverage,
        token_count,
        'no_sketch' as coverage_status

    from log_losses

    where not has_sketches

),

fct_prediction_set_coverage as (

    select
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        prediction_sets.applied_temperature,
        prediction_sets.is_fitted_temperature,
        prediction_sets.set_kind,
        cast(prediction_sets.target_coverage as double) as target_coverage,
        prediction_sets.nucleus_mass,
        prediction_sets.miscoverage_level,
        prediction_sets.coverage_status,
        prediction_sets.token_count,
        prediction_sets.calibration_token_count,
        prediction_sets.conformal_threshold,
        prediction_sets.prediction_set_coverage,
        prediction_sets.kept_mass,
        prediction_sets.mean_prediction_set_size,
        prediction_sets.coverage_ceiling,
        '{{ var("definition_version") }}' as definition_version

    from prediction_sets

    inner join scorings
        on prediction_sets.scoring_id = scorings.scoring_id

    order by
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        prediction_sets.applied_temperature,
        prediction_sets.is_fitted_temperature,
        prediction_sets.set_kind,
        prediction_sets.target_coverage

)

select * from fct_prediction_set_coverage
