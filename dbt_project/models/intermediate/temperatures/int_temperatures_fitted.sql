with

sketches_averaged as (

    select * from {{ ref('int_sketches_averaged') }}

),

class_sketches_averaged as (

    select * from {{ ref('int_class_sketches_averaged') }}

),

all_sketches as (

    select * from sketches_averaged

    union all by name

    select
        *,
        'all' as fold_name

    from class_sketches_averaged

),

temperatures_fitted as (

    select
        scoring_id,
        token_group,
        class_name,
        fold_name,
        token_count,
        mean_log_probability_nats,
        mean_sketch,
        fit_mean_sketch(sketch_in_nats(mean_sketch), mean_log_probability_nats) as fit

    from all_sketches

)

select * from temperatures_fitted
