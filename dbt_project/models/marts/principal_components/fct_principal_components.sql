with

credal_points as (

    select *

    from {{ ref('int_credal_points_built') }}

    where axes = 'semantic_lexical_syntactic'

),

fitted_points as (

    select
        'all' as fitted_on,
        credal_points.*

    from credal_points

    union all

    select
        story_source_name as fitted_on,
        credal_points.*

    from credal_points

),

fitted_components as (

    select
        study_name,
        coordinate_frame,
        fitted_on,
        cast(count(*) as integer) as vector_count,
        principal_components(list(point order by story_source_name, prompt_id)) as components

    from fitted_points

    group by 1, 2, 3

    having count(*) > 1

),

component_numbers as (

    select unnest([1, 2, 3]) as component_number

),

fct_principal_components as (

    select
        fitted_components.study_name,
        fitted_components.coordinate_frame,
        fitted_components.fitted_on,
        component_numbers.component_number,
        fitted_components.vector_count,
        fitted_components.components.variances[component_numbers.component_number]
            as explained_variance,
        fitted_components.components.variance_shares[component_numbers.component_number]
            as explained_variance_share,
        fitted_components.components.loadings[component_numbers.component_number][1]
            as semantic_loading,
        fitted_components.components.loadings[component_numbers.component_number][2]
            as lexical_loading,
        fitted_components.components.loadings[component_numbers.component_number][3]
            as syntactic_loading,
        '{{ var("definition_version") }}' as definition_version

    from fitted_components

    cross join component_numbers

    order by
        fitted_components.study_name,
        fitted_components.coordinate_frame,
        fitted_components.fitted_on,
        component_numbers.component_number

)

select * from fct_principal_components
