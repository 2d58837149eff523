with

samples_rejected as (

    select * from {{ ref('int_samples_rejected') }}

),

imported_vectors as (

    select * from {{ ref('int_imported_vectors_judged') }}

),

rejected_samples as (

    select
        {{ content_id([
            'reason', 'study_name', 'prompt_id', 'story_source_name', 'sample_index',
        ]) }} as reject_id,
        study_name,
        'sample' as reject_kind,
        reason,
        concat('Sample ', sample_index, ' of ', story_source_name, ' ', finding) as detail,
        prompt_id,
        story_id,
        file_name,
        line_number

    from samples_rejected

),

superseded_vectors as (

    select
        {{ content_id([
            "'measured_here'", 'study_name', 'prompt_id', 'story_source_name',
        ]) }} as reject_id,
        study_name,
        'vector' as reject_kind,
        'measured_here' as reason,
        concat(
            'The vector of ',
            story_source_name,
            ' was imported, but its stories are measured here.'
        ) as detail,
        prompt_id,
        null as story_id,
        file_name,
        line_number

    from imported_vectors

    where is_superseded

),

rejects_derived as (

    select * from rejected_samples

    union all

    select * from superseded_vectors

)

select * from rejects_derived
