with

stories as (

    select * from {{ ref('stg_raw__stories') }}

),

imported_vectors as (

    select * from {{ ref('stg_raw__diversity_vectors') }}

),

diversity_vectors as (

    select * from {{ ref('int_diversity_vectors_unioned') }}

),

mentions as (

    select
        study_name,
        story_source_name,
        story_kind,
        language_model_name,
        decoding_strategy_name,
        sampling_temperature,
        language_model_revision,
        quantization,
        1 as ledger_rows

    from stories

    union all

    select
        study_name,
        story_source_name,
        story_kind,
        language_model_name,
        decoding_strategy_name,
        sampling_temperature,
        null as language_model_revision,
        null as quantization,
        0 as ledger_rows

    from imported_vectors

),

described as (

    select
        study_name,
        story_source_name,
        {{ only_value('story_kind') }},
        {{ only_value('language_model_name') }},
        {{ only_value('decoding_strategy_name') }},
        {{ only_value('sampling_temperature') }},
        {{ only_value('language_model_revision') }},
        {{ only_value('quantization') }},
        cast(sum(ledger_rows) as integer) as story_count

    from mentions

    group by 1, 2

),

prompt_counts as (

    select
        study_name,
        story_source_name,
        cast(count(*) as integer) as prompt_count

    from diversity_vectors

    group by 1, 2

),

dim_story_sources as (

    select
        described.*,
        coalesce(prompt_counts.prompt_count, 0) as prompt_count

    from described

    left join prompt_counts
        on
            described.study_name = prompt_counts.study_name
            and described.story_source_name = prompt_counts.story_source_name

    order by described.study_name, described.story_source_name

)

select * from dim_story_sources
