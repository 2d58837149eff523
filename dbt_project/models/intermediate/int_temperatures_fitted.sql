with

sketches_averaged as (

    select * from {{ ref('int_sketches_averaged') }}

),

temperatures_fitted as (

    select
        scoring_id,
        token_group,
        fold_name,
        token_count,
        mean_log_probability_nats,
        mean_sketch,
        fit_mean_sketch(mean_sketch, mean_log_probability_nats) as fit

    from sketches_averaged

)

select * from temperatures_fitted
