with

calibration_errors as (

    select *

    from {{ ref('fct_calibration_errors') }}

    where binning = 'equal_width' and bin_count = 15

),

prediction_sets as (

    select *

    from {{ ref('fct_prediction_set_coverage') }}

    where
        set_kind = 'nucleus'
        and nucleus_mass = 0.9
        and applied_temperature = 1
        and not is_fitted_temperature

),

unknown_words as (

    select * from {{ ref('fct_unknown_words') }}

),

discount_refits as (

    select *

    from {{ ref('fct_discount_refits') }}

    where test_set_name = 'continuation'

    -- A small vocabulary is another trigram.
    qualify
        outcome_count = max(outcome_count) over (partition by study_name, discount_factor)

),

penalty_fits as (

    select * from {{ ref('fct_penalty_fits') }}

),

fact_regimes as (

    select * from {{ ref('fct_fact_regimes') }}

),

clm_figures_recomputed as (

    {% set scored = "concat(language_model_name, '/', test_set_name)" %}
    {% set discount = "concat('discount ', coalesce(format('{:g}', discount_factor), 'capped'))" %}
    {% set penalty = "concat('penalty ', replace(format('{:.0e}', penalty), 'e-0', 'e-'))" %}
    {% for printed_in, subject_name, statistic_name, value, relation in [
        ('Table of test sets', scored, "'mean_confidence'", 'mean_confidence', 'unknown_words'),
        ('Table of test sets', scored, "'accuracy'", 'accuracy', 'unknown_words'),
        ('Table of test sets', scored, "'ece_15'", 'ece_plugin', 'calibration_errors'),
        ('Table of test sets', scored, "'twin_ece'", 'twin_ece_mean', 'calibration_errors'),
        (
            'Table of test sets', scored, "'fitted_temperature'", 'fitted_temperature',
            'unknown_words'
        ),
        (
            'Table of test sets', scored, "'nucleus_coverage'", 'prediction_set_coverage',
            'prediction_sets'
        ),
        ('Table of test sets', scored, "'nucleus_kept_mass'", 'kept_mass', 'prediction_sets'),
        (
            'Table of discounts', discount, "'fitted_temperature'", 'fitted_temperature',
            'discount_refits'
        ),
        (
            'Table of discounts', discount, "'gap_third_to_0_6'", 'gap_third_to_0_6',
            'discount_refits'
        ),
        (
            'Table of discounts', discount, "'gap_above_two_thirds'", 'gap_above_two_thirds',
            'discount_refits'
        ),
        ('Table of penalties', penalty, 'text_set_name', 'fitted_temperature', 'penalty_fits'),
        (
            'Table of penalties', penalty,
            "case when text_set_name = 'training' then 'derivative_at_1' end",
            'derivative_at_1_nats', 'penalty_fits'
        ),
        ('Panel of facts', 'regime', "'probe_count'", 'probe_count', 'fact_regimes'),
        ('Panel of facts', 'regime', "'mean_confidence'", 'mean_confidence', 'fact_regimes'),
        ('Panel of facts', 'regime', "'accuracy'", 'accuracy', 'fact_regimes'),
    ] %}
        select
            study_name,
            '{{ printed_in }}' as printed_in,
            {{ subject_name }} as subject_name,
            {{ statistic_name }} as statistic_name,
            cast({{ value }} as double) as figure_value

        from {{ relation }}

        {{ 'union all' if not loop.last }}

    {% endfor %}
)

select * from clm_figures_recomputed
