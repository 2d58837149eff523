with

document_totals as (

    select * from {{ ref('int_document_totals_summed') }}

),

means_bootstrapped as (

    select
        scoring_id,
        cast(count(*) as integer) as resampled_unit_count,
        bootstrap_ratio(
            list(confidence_sum order by unit_index),
            list(token_count order by unit_index),
            {{ var('bootstrap_replicate_count') }},
            {{ var('bootstrap_seed') }}
        ) as mean_confidence_range,
        bootstrap_ratio(
            list(hit_count order by unit_index),
            list(token_count order by unit_index),
            {{ var('bootstrap_replicate_count') }},
            {{ var('bootstrap_seed') }}
        ) as accuracy_range,
        bootstrap_ratio(
            list(hit_count - confidence_sum order by unit_index),
            list(token_count order by unit_index),
            {{ var('bootstrap_replicate_count') }},
            {{ var('bootstrap_seed') }}
        ) as gap_range,
        case
            when count(log_loss_sum) = count(*)
                then
                    bootstrap_ratio(
                        list(log_loss_sum order by unit_index),
                        list(token_count order by unit_index),
                        {{ var('bootstrap_replicate_count') }},
                        {{ var('bootstrap_seed') }}
                    )
        end as log_loss_range

    from document_totals

    group by 1

)

select * from means_bootstrapped
