with

reliability_bins as (

    select * from {{ ref('int_reliability_bins_rolled_up') }}

),

placed_tokens as (

    select * from {{ ref('int_token_bins_placed') }}

),

-- Only bins with few tokens need the tokens themselves, and only the fine bins inside them.
fine_bins_of_small_bins as (

    select
        scoring_id,
        binning,
        bin_count,
        bin_index,
        unnest(
            range(
                bin_index * {{ var('fine_bin_count') }} // bin_count,
                (bin_index + 1) * {{ var('fine_bin_count') }} // bin_count
            )
        ) as fine_bin_index

    from reliability_bins

    where token_count between 1 and {{ var('exact_twin_tokens') }} - 1

),

-- Coins are sorted by the function itself: their order changes no bit.
exact_deviations as (

    {% for binning in ['equal_width', 'equal_mass'] %}
        select
            fine_bins_of_small_bins.scoring_id,
            fine_bins_of_small_bins.binning,
            fine_bins_of_small_bins.bin_count,
            fine_bins_of_small_bins.bin_index,
            poisson_binomial_deviation(list(placed_tokens.confidence)) as absolute_deviation

        from fine_bins_of_small_bins

        inner join placed_tokens
            on
                fine_bins_of_small_bins.scoring_id = placed_tokens.scoring_id
                and fine_bins_of_small_bins.fine_bin_index
                = placed_tokens.{{ binning }}_bin_index

        where fine_bins_of_small_bins.binning = '{{ binning }}'

        group by 1, 2, 3, 4

        {{ 'union all' if not loop.last }}

    {% endfor %}
),

twin_deviations_computed as (

    select
        reliability_bins.scoring_id,
        reliability_bins.binning,
        reliability_bins.bin_count,
        reliability_bins.bin_index,
        coalesce(
            exact_deviations.absolute_deviation, sqrt(2 * reliability_bins.variance_sum / pi())
        ) as absolute_deviation

    from reliability_bins

    left join exact_deviations
        on
            reliability_bins.scoring_id = exact_deviations.scoring_id
            and reliability_bins.binning = exact_deviations.binning
            and reliability_bins.bin_count = exact_deviations.bin_count
            and reliability_bins.bin_index = exact_deviations.bin_index

)

select * from twin_deviations_computed
