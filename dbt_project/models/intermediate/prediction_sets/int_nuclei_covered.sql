with

set_scores as (

    select * from {{ ref('int_set_scores_tempered') }}

),

nucleus_masses as (

    select unnest({{ var('nucleus_masses') }}) as nucleus_mass

),

-- 0.6 + 0.3 is 0.8999999999999999 in binary, and is 0.9. In fixed point, units of 2^-40.
nuclei_covered as (

    select
        set_scores.scoring_id,
        set_scores.applied_temperature,
        set_scores.is_fitted_temperature,
        cast(nucleus_masses.nucleus_mass as double) as nucleus_mass,
        count(*) as token_count,
        count(*) filter (where set_scores.mass_ahead < nucleus_masses.nucleus_mass - 1e-12)
        / count(*) as prediction_set_coverage,
        case
            when nucleus_masses.nucleus_mass = 0.9 and count(set_scores.kept_mass) = count(*)
                then
                    {{ exact_sum('set_scores.kept_mass', 40) }} / count(*)
        end as kept_mass,
        case
            when
                nucleus_masses.nucleus_mass = 0.9
                and count(set_scores.prediction_set_size) = count(*)
                then sum(set_scores.prediction_set_size) / count(*)
        end as mean_prediction_set_size,
        1 - count(*) filter (where set_scores.is_unknown) / count(*) as coverage_ceiling

    from set_scores

    cross join nucleus_masses

    group by 1, 2, 3, nucleus_masses.nucleus_mass

)

select * from nuclei_covered
