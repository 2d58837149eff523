with

confidences as (

    select * from {{ ref('int_confidences_ranked') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

orders as (

    select
        scoring_id,
        applied_temperature,
        count(*) as token_count,
        kendall_tau_b(
            list(confidence_at_1 order by confidence_rank),
            list(confidence order by confidence_rank)
        ) as confidence_rank_correlation

    from confidences

    group by 1, 2

),

answered_shares as (

    select unnest({{ var('answered_shares') }}) as answered_share

),

-- In decimals: 0.29 of 100 is 29 and not 28.
selections as (

    select
        orders.scoring_id,
        orders.applied_temperature,
        cast(answered_shares.answered_share as double) as answered_share,
        orders.token_count,
        orders.confidence_rank_correlation,
        cast(
            floor(orders.token_count * cast(answered_shares.answered_share as decimal(6, 4)))
            as bigint
        ) as answered_token_count

    from orders

    cross join answered_shares

),

answers as (

    select
        selections.scoring_id,
        selections.applied_temperature,
        selections.answered_share,
        count(*) filter (where confidences.is_hit) / count(*) as selective_accuracy,
        min(confidences.confidence) as least_confidence,
        count(*) filter (
            where confidences.confidence_rank_at_1 <= selections.answered_token_count
        )
        / count(*) as retained_share

    from selections

    inner join confidences
        on
            selections.scoring_id = confidences.scoring_id
            and selections.applied_temperature = confidences.applied_temperature
            and selections.answered_token_count >= confidences.confidence_rank

    group by 1, 2, 3

),

fct_selective_accuracy as (

    select
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        selections.applied_temperature,
        selections.answered_share,
        selections.token_count,
        selections.answered_token_count,
        answers.selective_accuracy,
        answers.least_confidence,
        answers.retained_share,
        selections.confidence_rank_correlation,
        '{{ var("definition_version") }}' as definition_version

    from selections

    left join answers
        on
            selections.scoring_id = answers.scoring_id
            and selections.applied_temperature = answers.applied_temperature
            and selections.answered_share = answers.answered_share

    inner join scorings
        on selections.scoring_id = scorings.scoring_id

    order by
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        selections.applied_temperature,
        selections.answered_share

)

select * from fct_selective_accuracy
