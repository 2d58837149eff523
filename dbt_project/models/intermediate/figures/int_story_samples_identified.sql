with

diversity_vectors as (

    select * from {{ ref('fct_diversity_vectors') }}

),

stories as (

    select * from {{ ref('fct_stories') }}

),

-- What people wrote is what is compared with; what a language model wrote is what is compared.
human_text_lists as (

    select
        study_name,
        prompt_id,
        story_source_name,
        list(text_id order by text_id) as text_ids

    from stories

    where story_source_name = 'human' and is_measured

    group by 1, 2, 3

),

story_sets as (

    select
        vectors.study_name,
        vectors.story_source_name,
        {{ content_id([
            'vectors.story_source_name',
            'list(vectors.prompt_id order by vectors.prompt_id)',
            'list(vectors.story_count order by vectors.prompt_id)',
            'list(human_text_lists.text_ids order by vectors.prompt_id)'
        ]) }} as story_set_id

    from diversity_vectors as vectors

    left join human_text_lists
        on
            vectors.study_name = human_text_lists.study_name
            and vectors.prompt_id = human_text_lists.prompt_id
            and vectors.story_source_name = human_text_lists.story_source_name

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
