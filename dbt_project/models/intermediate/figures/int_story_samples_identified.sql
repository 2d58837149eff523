with

diversity_vectors as (

    select * from {{ ref('fct_diversity_vectors') }}

),

story_sets as (

    select
        study_name,
        story_source_name,
        {{ content_id([
            'story_source_name', 'list(prompt_id order by prompt_id)',
            'list(story_count order by prompt_id)'
        ]) }} as story_set_id

    from diversity_vectors

    group by 1, 2

),

studies as (

    select
        study_name,
        {{ content_id(['list(story_set_id order by story_source_name)']) }} as pooled_set_id,
        any_value(story_set_id) filter (where story_source_name = 'human') as human_set_id

    from story_sets

    group by 1

),

-- A frame is part of the sample: one more story source moves every pooled z-score.
story_samples_identified as (

    {% for coordinate_frame, scaled_by in {
        'pooled_z': 'studies.pooled_set_id',
        'human_z': 'studies.human_set_id',
        'raw': "'nothing'"
    }.items() %}
        select
            story_sets.study_name,
            story_sets.story_source_name,
            '{{ coordinate_frame }}' as coordinate_frame,
            {{ content_id([
                "'stories'", 'story_sets.story_set_id', 'studies.human_set_id', scaled_by
            ]) }} as sample_id

        from story_sets

        inner join studies
            on story_sets.study_name = studies.study_name

        {% if not loop.last %}union all{% endif %}
    {% endfor %}

)

select * from story_samples_identified
