with

document_sketches as (

    select * from {{ ref('int_document_sketches_summed') }}

),

temperatures_bootstrapped as (

    select
        scoring_id,
        token_group,
        class_name,
        bootstrap_temperature(
            list(token_count order by unit_index),
            list(sketch_sums order by unit_index),
            list(log_probability_sum order by unit_index),
            {{ var('bootstrap_replicate_count') }},
            {{ var('bootstrap_seed') }}
        ) as temperature_range

    from document_sketches

    group by 1, 2, 3

)

select * from temperatures_bootstrapped
