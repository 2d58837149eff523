with

diversity_summaries as (

    select *

    from {{ ref('fct_diversity_summaries') }}

    where
        story_source_name = 'human'
        and axis_name = 'semantic'

),

human_sets as (

    select *

    from {{ ref('fct_credal_sets') }}

    where
        story_source_name = 'human'
        and coordinate_frame = 'pooled_z'
        and axes = 'semantic_lexical_syntactic'

),

first_components as (

    select *

    from {{ ref('fct_principal_components') }}

    where
        coordinate_frame = 'pooled_z'
        and fitted_on = 'all'
        and component_number = 1

),

raw_overlaps as (

    select *

    from {{ ref('fct_credal_overlaps') }}

    where
        coordinate_frame = 'raw'
        and axes = 'semantic_lexical_syntactic'

),

study_geometry_recomputed as (

    {% for statistic_name, value, relation in [
        ('prompt_count', 'prompt_count', 'diversity_summaries'),
        ('semantic_diversity_share_below_0.6', 'share_below_0_6', 'diversity_summaries'),
        ('semantic_diversity_share_0.6_to_0.7', 'share_0_6_to_0_7', 'diversity_summaries'),
        ('semantic_diversity_share_above_0.7', 'share_above_0_7', 'diversity_summaries'),
        ('human_hull_volume', 'hull_volume', 'human_sets'),
        ('pc1_explained_variance', 'explained_variance_share', 'first_components'),
        ('pc1_loading_semantic', 'semantic_loading', 'first_components'),
        ('pc1_loading_lexical', 'lexical_loading', 'first_components'),
        ('pc1_loading_syntactic', 'syntactic_loading', 'first_components'),
    ] %}
        select
            study_name,
            '{{ statistic_name }}' as statistic_name,
            {{ value }} as figure_value

        from {{ relation }}

        union all

    {% endfor %}
    select
        study_name,
        'best_wasserstein' as statistic_name,
        min(wasserstein_mean) as figure_value

    from raw_overlaps

    group by 1

)

select * from study_geometry_recomputed
