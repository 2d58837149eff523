with

stories as (

    select * from {{ ref('int_stories_selected') }}

),

story_cuts as (

    select * from {{ ref('int_story_cuts_measured') }}

),

studies as (

    select * from {{ ref('stg_raw__studies') }}

),

story_sources_sampled as (

    select * from {{ ref('int_story_sources_sampled') }}

),

cut_counts as (

    select
        study_name,
        prompt_id,
        story_source_name,
        count(*) filter (where text_cut = 'whole' and is_measured) as story_count,
        count(*) filter (where text_cut = 'common') as length_controlled_selected_count,
        count(*) filter (
            where text_cut = 'common' and is_measured
        ) as length_controlled_story_count

    from story_cuts

    group by 1, 2, 3

),

ledger_counts as (

    select
        study_name,
        prompt_id,
        story_source_name,
        story_kind,
        count(*) filter (where is_selected) as selected_story_count,
        -- Human stories that were not drawn were never asked for; samples always were.
        count(*) filter (where is_selected or story_kind = 'generated') as ledger_story_count

    from stories

    group by 1, 2, 3, 4

),

story_sets_counted as (

    select
        ledger_counts.study_name,
        ledger_counts.prompt_id,
        ledger_counts.story_source_name,
        ledger_counts.story_kind,
        cast(ledger_counts.selected_story_count as integer) as selected_story_count,
        cast(coalesce(cut_counts.story_count, 0) as integer) as story_count,
        cast(
            coalesce(cut_counts.length_controlled_selected_count, 0) as integer
        ) as length_controlled_selected_count,
        cast(
            coalesce(cut_counts.length_controlled_story_count, 0) as integer
        ) as length_controlled_story_count,
        cast(
            ledger_counts.ledger_story_count - coalesce(cut_counts.story_count, 0) as integer
        ) as excluded_story_count,
        case
            when ledger_counts.story_kind = 'human' then studies.stories_per_prompt
            else story_sources_sampled.samples_per_prompt
        end as requested_story_count

    from ledger_counts

    inner join studies
        on ledger_counts.study_name = studies.study_name

    left join story_sources_sampled
        on
            ledger_counts.study_name = story_sources_sampled.study_name
            and ledger_counts.story_source_name = story_sources_sampled.story_source_name

    left join cut_counts
        on
            ledger_counts.study_name = cut_counts.study_name
            and ledger_counts.prompt_id = cut_counts.prompt_id
            and ledger_counts.story_source_name = cut_counts.story_source_name

    where ledger_counts.ledger_story_count > 0

)

select * from story_sets_counted
