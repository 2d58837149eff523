-- A returned row is a study whose pooled z-scores do not average to 0 over all its vectors.
with

scaled_vectors as (

    select * from {{ ref('int_diversity_vectors_scaled') }}

),

mean_coordinates as (

    select
        study_name,
        avg(semantic_coordinate) as mean_semantic_coordinate,
        avg(lexical_coordinate) as mean_lexical_coordinate,
        avg(syntactic_coordinate) as mean_syntactic_coordinate

    from scaled_vectors

    where coordinate_frame = 'pooled_z'

    group by 1

)

select *

from mean_coordinates

-- Vectors are given to some 1e-16 and divided by an sd of 1e-3 at least, a few thousand of them.
where
    not abs(mean_semantic_coordinate) <= 1e-9
    or not abs(mean_lexical_coordinate) <= 1e-9
    or not abs(mean_syntactic_coordinate) <= 1e-9
