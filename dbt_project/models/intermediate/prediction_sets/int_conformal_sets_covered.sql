with

set_scores as (

    select * from {{ ref('int_set_scores_tempered') }}

),

conformal_scores as (

    select
        scoring_id,
        applied_temperature,
        is_fitted_temperature,
        fold_index,
        unnest(['aps', 'lac']) as set_kind,
        unnest([mass_ahead, unlikeliness]) as conformal_score

    from set_scores

),

calibration_halves as (

    select
        scoring_id,
        applied_temperature,
        is_fitted_temperature,
        set_kind,
        count(*) as calibration_token_count,
        list(conformal_score order by conformal_score) as ordered_scores

    from conformal_scores

    where fold_index = 0

    group by 1, 2, 3, 4

),

miscoverage_levels as (

    select unnest({{ var('miscoverage_levels') }}) as miscoverage_level

),

-- The ceil((n + 1)(1 - alpha))-th smallest score, in decimals: 10 times 0.3 is 3 and no more.
thresholds as (

    select
        calibration_halves.scoring_id,
        calibration_halves.applied_temperature,
        calibration_halves.is_fitted_temperature,
        calibration_halves.set_kind,
        cast(miscoverage_levels.miscoverage_level as double) as miscoverage_level,
        calibration_halves.calibration_token_count,
        coalesce(
            calibration_halves.ordered_scores[
                cast(
                    ceil(
                        (calibration_halves.calibration_token_count + 1)
                        * (1 - cast(miscoverage_levels.miscoverage_level as decimal(6, 4)))
                    ) as bigint
                )
            ],
            cast('inf' as double)
        ) as conformal_threshold

    from calibration_halves

    cross join miscoverage_levels

),

conformal_sets_covered as (

    select
        thresholds.scoring_id,
        thresholds.applied_temperature,
        thresholds.is_fitted_temperature,
        thresholds.set_kind,
        thresholds.miscoverage_level,
        any_value(thresholds.conformal_threshold) as conformal_threshold,
        any_value(thresholds.calibration_token_count) as calibration_token_count,
        count(*) as token_count,
        count(*) filter (
            -- Equal masses summed in another order differ in their last bits, as of nuclei.
            where conformal_scores.conformal_score <= thresholds.conformal_threshold + 1e-12
        )
        / count(*) as prediction_set_coverage

    from thresholds

    inner join conformal_scores
        on
            thresholds.scoring_id = conformal_scores.scoring_id
            and thresholds.applied_temperature = conformal_scores.applied_temperature
            and thresholds.is_fitted_temperature = conformal_scores.is_fitted_temperature
            and thresholds.set_kind = conformal_scores.set_kind
            and conformal_scores.fold_index = 1

    group by 1, 2, 3, 4, 5

)

select * from conformal_sets_covered
