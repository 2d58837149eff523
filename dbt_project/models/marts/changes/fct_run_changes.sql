with

figures_paired as (

    select * from {{ ref('int_figures_paired') }}

),

-- Every change is that of what lies above the noise floor, where there is one.
figures_subtracted as (

    select
        *,
        (figure_value - coalesce(noise_floor, 0))
        - (earlier_figure_value - coalesce(earlier_noise_floor, 0)) as difference,
        sqrt(noise_sd * noise_sd + earlier_noise_sd * earlier_noise_sd) as difference_sd

    from figures_paired

),

figures_judged as (

    select
        *,
        case
            when earlier_publication_id is null then 'no_earlier_publication'
            when not was_shown_earlier then 'new_figure'
            when not is_shown_now then 'gone_figure'
            when definition_json != earlier_definition_json then 'other_definition'
            when difference is null or not isfinite(difference) then 'no_value'
            when difference_sd is null or not isfinite(difference_sd) or difference_sd = 0
                then 'no_noise'
            when sample_id != earlier_sample_id then 'other_sample'
            else 'compared'
        end as change_status

    from figures_subtracted

),

fct_run_changes as (

    select
        study_name,
        figure_id,
        figure_kind,
        measure_name,
        test_set_name,
        language_model_name,
        binning,
        story_source_name,
        coordinate_frame,
        axes,
        change_status,
        figure_value,
        earlier_figure_value,
        case
            when change_status in ('compared', 'other_sample', 'no_noise') then difference
        end as figure_change,
        case
            when change_status in ('compared', 'other_sample') then difference_sd
        end as change_unit,
        case
            when change_status in ('compared', 'other_sample') then difference / difference_sd
        end as change_in_units,
        noise_kind,
        noise_floor,
        earlier_noise_floor,
        noise_sd,
        earlier_noise_sd,
        sample_count,
        earlier_sample_count,
        sample_id,
        earlier_sample_id,
        definition_json,
        earlier_definition_json,
        figure_set_id,
        earlier_publication_id,
        earlier_published_at

    from figures_judged

    order by
        study_name,
        figure_kind,
        measure_name,
        test_set_name,
        language_model_name,
        binning,
        story_source_name,
        coordinate_frame,
        axes

)

select * from fct_run_changes
