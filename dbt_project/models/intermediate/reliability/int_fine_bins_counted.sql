with

placed_tokens as (

    select * from {{ ref('int_token_bins_placed') }}

),

-- In fixed point, units of 2^-48: sums of whole numbers do not depend on the order of threads.
fine_bins_counted as (

    {% for binning in ['equal_width', 'equal_mass'] %}
        select
            scoring_id,
            '{{ binning }}' as binning,
            {{ binning }}_bin_index as fine_bin_index,
            count(*) as token_count,
            count(*) filter (where is_hit) as hit_count,
            sum({{ fixed_units('confidence') }}) as confidence_units,
            sum({{ fixed_units('confidence * (1 - confidence)') }})
                as variance_units,
            max(confidence) as highest_confidence

        from placed_tokens

        group by 1, 2, 3

        {{ 'union all' if not loop.last }}

    {% endfor %}
)

select * from fine_bins_counted
