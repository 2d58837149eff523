with

tempered_bins as (

    select * from {{ ref('int_tempered_bins_counted') }}

),

sketches_averaged as (

    select * from {{ ref('int_sketches_averaged') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

bins_with_twins as (

    select
        *,
        coalesce(exact_deviation, sqrt(2 * variance_sum / pi())) as absolute_deviation

    from tempered_bins

),

curve_points as (

    select
        scoring_id,
        applied_temperature,
        bin_count,
        cast(sum(token_count) as bigint) as token_count,
        list_sum(list(confidence_sum order by bin_index)) / sum(token_count) as mean_confidence,
        sum(hit_count) / sum(token_count) as accuracy,
        list_sum(list(abs(hit_count - confidence_sum) order by bin_index)) / sum(token_count)
            as ece_plugin,
        list_sum(list(absolute_deviation order by bin_index)) / sum(token_count) as twin_ece_mean,
        -- Rounding may leave -1e-17 of a spread of 0.
        sqrt(
            greatest(
                list_sum(
                    list(variance_sum - pow(absolute_deviation, 2) order by bin_index)
                ),
                0
            )
        )
        / sum(token_count) as twin_ece_sd

    from bins_with_twins

    group by 1, 2, 3

),

fct_temperature_curves as (

    select
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        curve_points.applied_temperature,
        curve_points.bin_count,
        curve_points.token_count,
        log_loss_at(
            curve_points.applied_temperature,
            sketches_averaged.mean_sketch,
            sketches_averaged.mean_log_probability_nats
        ) as log_loss_nats,
        curve_points.mean_confidence,
        curve_points.accuracy,
        curve_points.accuracy - curve_points.mean_confidence as gap,
        curve_points.ece_plugin,
        curve_points.twin_ece_mean,
        curve_points.twin_ece_sd,
        '{{ var("definition_version") }}' as definition_version

    from curve_points

    inner join sketches_averaged
        on
            curve_points.scoring_id = sketches_averaged.scoring_id
            and sketches_averaged.token_group = 'all'
            and sketches_averaged.fold_name = 'all'

    inner join scorings
        on curve_points.scoring_id = scorings.scoring_id

    order by
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        curve_points.applied_temperature,
        curve_points.bin_count

)

select * from fct_temperature_curves
