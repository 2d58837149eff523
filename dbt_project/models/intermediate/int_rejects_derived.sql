with

samples_missed as (

    select * from {{ ref('int_samples_missed') }}

),

imported_vectors as (

    select * from {{ ref('stg_raw__diversity_vectors') }}

),

measured_vectors as (

    select * from {{ ref('int_diversity_vectors_measured') }}

),

missing_samples as (

    select
        {{ content_id([
            "'missing_sample'", 'study_name', 'prompt_id', 'story_source_name', 'sample_index',
        ]) }} as reject_id,
        study_name,
        'sample' as reject_kind,
        'missing_sample' as reason,
        concat(
            'Sample ', sample_index, ' of ', story_source_name, ' was asked for and never came.'
        ) as detail,
        prompt_id,
        null as file_name,
        null as line_number

    from samples_missed

),

superseded_vectors as (

    select
        {{ content_id([
            "'measured_here'",
            'imported_vectors.study_name',
            'imported_vectors.prompt_id',
            'imported_vectors.story_source_name',
        ]) }} as reject_id,
        imported_vectors.study_name,
        'vector' as reject_kind,
        'measured_here' as reason,
        concat(
            'The vector of ',
            imported_vectors.story_source_name,
            ' was imported, but its stories are measured here.'
        ) as detail,
        imported_vectors.prompt_id,
        imported_vectors.file_name,
        imported_vectors.line_number

    from imported_vectors

    semi join measured_vectors
        on
            imported_vectors.study_name = measured_vectors.study_name
            and imported_vectors.prompt_id = measured_vectors.prompt_id
            and imported_vectors.story_source_name = measured_vectors.story_source_name

),

rejects_derived as (

    select * from missing_samples

    union all

    select * from superseded_vectors

)

select * from rejects_derived
