with

fits as (

    select * from {{ ref('int_temperatures_fitted') }}

),

-- Each half is scored at the temperature that was fitted to the other.
halves_scored as (

    select
        scored.scoring_id,
        scored.token_group,
        scored.class_name,
        scored.fold_name,
        scored.token_count,
        scored.token_count * (
            log_loss_at(1.0, scored.mean_sketch, scored.mean_log_probability_nats)
            - log_loss_at(
                fitted.fit.fitted_temperature,
                scored.mean_sketch,
                scored.mean_log_probability_nats
            )
        ) as gain_sum

    from fits as scored

    inner join fits as fitted
        on
            scored.scoring_id = fitted.scoring_id
            and scored.token_group = fitted.token_group
            and scored.fold_name != fitted.fold_name

    where scored.fold_name != 'all' and fitted.fold_name != 'all'

),

temperature_gains_crossed as (

    select
        scoring_id,
        token_group,
        class_name,
        case
            when count(gain_sum) = 2
                then list_sum(list(gain_sum order by fold_name)) / sum(token_count)
        end as temperature_gain_nats

    from halves_scored

    group by 1, 2, 3

)

select * from temperature_gains_crossed
