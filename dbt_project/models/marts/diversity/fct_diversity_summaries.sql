with

diversity_axes as (

    select * from {{ ref('int_diversity_axes_unpivoted') }}

),

summaries as (

    select
        study_name,
        story_source_name,
        axis_name,
        cast(count(*) as integer) as prompt_count,
        axis_scale(list(diversity order by prompt_id)) as scale,
        quantile_cont(diversity, 0.25) as diversity_quartile_1,
        median(diversity) as diversity_median,
        quantile_cont(diversity, 0.75) as diversity_quartile_3,
        count(*) filter (where diversity < 0.6) as low_count,
        count(*) filter (where diversity > 0.7) as high_count

    from diversity_axes

    group by 1, 2, 3

),

fct_diversity_summaries as (

    select
        summaries.study_name,
        summaries.story_source_name,
        summaries.axis_name,
        summaries.prompt_count,
        summaries.scale.mean as diversity_mean,
        summaries.scale.sd as diversity_sd,
        summaries.diversity_quartile_1,
        summaries.diversity_median,
        summaries.diversity_quartile_3,
        summaries.diversity_quartile_3 - summaries.diversity_quartile_1
            as diversity_interquartile_range,
        summaries.low_count / summaries.prompt_count as share_below_0_6,
        (summaries.prompt_count - summaries.low_count - summaries.high_count)
        / summaries.prompt_count as share_0_6_to_0_7,
        summaries.high_count / summaries.prompt_count as share_above_0_7,
        '{{ var("definition_version") }}' as definition_version

    from summaries

    order by summaries.study_name, summaries.story_source_name, summaries.axis_name

)

select * from fct_diversity_summaries
