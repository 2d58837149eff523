with

placed_tokens as (

    select * from {{ ref('int_token_bins_placed') }}

),

scorings as (

    select * from {{ ref('int_scorings_numbered') }}

),

-- Grouped by two small stored numbers, which need no hashing. In fixed point, units of 2^-48: sums
-- of whole numbers do not depend on the order of threads.
bins_counted as (

    {% for binning in ['equal_width', 'equal_mass'] %}
        select
            scoring_index,
            '{{ binning }}' as binning,
            {{ binning }}_bin_index as fine_bin_index,
            count(*) as token_count,
            count(*) filter (where is_hit) as hit_count,
            sum({{ fixed_units('confidence') }}) as confidence_units,
            sum({{ fixed_units('confidence * (1 - confidence)') }})
                as variance_units,
            -- Bins of equal width end where their edges say.
            {{ 'max(confidence)' if binning == 'equal_mass' else 'cast(null as double)' }}
                as highest_confidence

        from placed_tokens

        group by 1, 3

        {{ 'union all' if not loop.last }}

    {% endfor %}
),

fine_bins_counted as (

    select
        scorings.scoring_id,
        bins_counted.binning,
        bins_counted.fine_bin_index,
        bins_counted.token_count,
        bins_counted.hit_count,
        bins_counted.confidence_units,
        bins_counted.variance_units,
        bins_counted.highest_confidence

    from bins_counted

    inner join scorings
        on bins_counted.scoring_index = scorings.scoring_index

)

select * from fine_bins_counted
