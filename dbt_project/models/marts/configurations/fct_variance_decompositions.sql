with

strategies_left_out as (

    select * from {{ ref('int_strategies_left_out') }}

),

conventions as (

    select unnest([0, 1]) as ddof

),

decomposed as (

    select
        strategies_left_out.study_name,
        strategies_left_out.language_model_name,
        strategies_left_out.coordinate_frame,
        strategies_left_out.left_out_strategy_name,
        conventions.ddof,
        strategies_left_out.strategy_count,
        strategies_left_out.prompt_count,
        variance_decomposition(
            strategies_left_out.strategy_points,
            strategies_left_out.coordinate_frame = 'language_model_z',
            conventions.ddof,
            {{ var('bootstrap_replicate_count') }},
            {{ var('bootstrap_seed') }}
        ) as decomposition

    from strategies_left_out

    cross join conventions

),

fct_variance_decompositions as (

    select
        decomposed.study_name,
        decomposed.language_model_name,
        decomposed.coordinate_frame,
        decomposed.left_out_strategy_name,
        decomposed.ddof,
        decomposed.strategy_count,
        decomposed.prompt_count,
        decomposed.decomposition.between_strategy_variance,
        decomposed.decomposition.within_strategy_variance,
        decomposed.decomposition.epistemic_ratio,
        decomposed.decomposition.epistemic_ratio_bias,
        decomposed.decomposition.epistemic_ratio_low,
        decomposed.decomposition.epistemic_ratio_high,
        {{ var('bootstrap_replicate_count') }} as replicate_count,
        {{ var('bootstrap_seed') }} as bootstrap_seed,
        '{{ var("definition_version") }}' as definition_version

    from decomposed

    order by
        decomposed.study_name,
        decomposed.language_model_name,
        decomposed.coordinate_frame,
        decomposed.left_out_strategy_name,
        decomposed.ddof

)

select * from fct_variance_decompositions
