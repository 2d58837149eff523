with

table_4 as (

    select * from {{ ref('gcv_table_4') }}

),

language_model_traits as (

    select * from {{ ref('language_model_traits') }}

),

-- As rows of `int_calibrations_unpivoted`, so that the same tests run on them.
published_calibrations_listed as (

    select
        'published' as study_name,
        'published' as coordinate_frame,
        'published' as axes,
        'calibration' as measure_name,
        concat(table_4.language_model_name, '/', table_4.decoding_strategy_name)
            as story_source_name,
        table_4.language_model_name,
        table_4.decoding_strategy_name,
        {{ strategy_type('table_4.decoding_strategy_name') }} as strategy_type_name,
        language_model_traits.parameter_count_billions,
        language_model_traits.is_instruction_tuned,
        table_4.calibration as measure_value,
        cast(null as double) as wasserstein_mean

    from table_4

    inner join language_model_traits
        on table_4.language_model_name = language_model_traits.language_model_name

)

select * from published_calibrations_listed
