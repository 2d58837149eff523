with

token_classes as (

    select * from {{ ref('int_token_classes_listed') }}

),

scorings as (

    select * from {{ ref('stg_raw__scorings') }}

),

-- In fixed point, as the fine bins are counted.
classes as (

    select
        scoring_id,
        breakdown_name,
        class_name,
        count(*) as token_count,
        {{ exact_sum('confidence') }} / count(*) as mean_confidence,
        count(*) filter (where is_hit) / count(*) as accuracy,
        {{ exact_sum('confidence * (1 - confidence)') }} as variance_sum,
        case
            when count(log_probability_nats) = count(*)
                then
                    {{ exact_sum('-log_probability_nats', 40) }} / count(*)
        end as log_loss_nats

    from token_classes

    where class_name is not null

    group by 1, 2, 3

),

fct_confidence_breakdowns as (

    select
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        classes.breakdown_name,
        classes.class_name,
        classes.token_count,
        classes.mean_confidence,
        classes.accuracy,
        classes.accuracy - classes.mean_confidence as gap,
        sqrt(classes.variance_sum) / classes.token_count as twin_gap_sd,
        classes.log_loss_nats,
        '{{ var("definition_version") }}' as definition_version

    from classes

    inner join scorings
        on classes.scoring_id = scorings.scoring_id

    order by
        scorings.study_name,
        scorings.test_set_name,
        scorings.language_model_name,
        classes.breakdown_name,
        classes.class_name

)

select * from fct_confidence_breakdowns
