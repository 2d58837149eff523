{{ config(materialized='view') }}

with

binned_tokens as (

    select * from {{ ref('int_scored_tokens_binned') }}

),

-- Fitted to the half that calibrates conformal sets: what tries them has no part in either.
fits as (

    select
        fits.scoring_id,
        fits.fit.fitted_temperature

    from {{ ref('int_temperatures_fitted') }} as fits

    where
        fits.token_group = 'all'
        and fits.fold_name = 'even'
        and fits.fit.fitted_temperature is not null

),

tokens_with_fits as (

    select
        binned_tokens.*,
        fits.fitted_temperature

    from binned_tokens

    inner join fits
        on binned_tokens.scoring_id = fits.scoring_id

),

set_scores_tempered as (

    {% for temperature in var('set_temperatures') %}
        {{ tempered_set_scores(temperature, 'binned_tokens') }}

        union all

    {% endfor %}
    {{ tempered_set_scores('fitted_temperature', 'tokens_with_fits') }}

)

select * from set_scores_tempered
