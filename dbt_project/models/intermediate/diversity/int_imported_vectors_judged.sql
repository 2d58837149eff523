with

imported_vectors as (

    select * from {{ ref('stg_raw__diversity_vectors') }}

),

measured_vectors as (

    select * from {{ ref('int_diversity_vectors_measured') }}

),

complete_measured_vectors as (

    select *

    from measured_vectors

    where
        semantic_diversity is not null
        and lexical_diversity is not null
        and syntactic_diversity is not null

),

imported_vectors_judged as (

    select
        imported_vectors.study_name,
        imported_vectors.prompt_id,
        imported_vectors.story_source_name,
        imported_vectors.story_kind,
        imported_vectors.semantic_diversity,
        imported_vectors.lexical_diversity,
        imported_vectors.syntactic_diversity,
        imported_vectors.story_count,
        imported_vectors.file_name,
        imported_vectors.line_number,
        -- A set that is waiting or too small has no vector to put in the place of a ready one.
        complete_measured_vectors.study_name is not null as is_superseded

    from imported_vectors

    left join complete_measured_vectors
        on
            imported_vectors.study_name = complete_measured_vectors.study_name
            and imported_vectors.prompt_id = complete_measured_vectors.prompt_id
            and imported_vectors.story_source_name = complete_measured_vectors.story_source_name

)

select * from imported_vectors_judged
