with

source as (

    select * from {{ source('raw', 'published_figures') }}

),

renamed as (

    select
        publication_id,
        figure_id,
        study_name,
        figure_set_id,
        figure_kind,
        measure_name,
        test_set_name,
        language_model_name,
        binning,
        story_source_name,
        coordinate_frame,
        axes,
        figure_value,
        noise_floor,
        noise_sd,
        noise_kind,
        sample_count,
        sample_id,
        definition_json

    from source

)

select * from renamed
