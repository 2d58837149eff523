{{ config(materialized='view') }}

with

placed_tokens as (

    select * from {{ ref('int_token_bins_placed') }}

),

-- In fixed point, units of 2^-48, as `int_fine_bins_counted` counts them.
document_bins_counted as (

    {% for binning in ['equal_width', 'equal_mass'] %}
        select
            scoring_id,
            '{{ binning }}' as binning,
            unit_index,
            {{ binning }}_bin_index as fine_bin_index,
            count(*) as token_count,
            count(*) filter (where is_hit) as hit_count,
            {{ exact_sum('confidence') }} as confidence_sum

        from placed_tokens

        group by 1, 2, 3, 4

        {{ 'union all' if not loop.last }}

    {% endfor %}
)

select * from document_bins_counted
