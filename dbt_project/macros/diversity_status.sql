{#-
    Why the diversity of a set of stories is what it is. `story_count` is what was measured,
    `selected_story_count` what should be, `diversities` the relation with the three axes; the model
    it stands in has `story_sets.requested_story_count`.
-#}
{% macro diversity_status(story_count, selected_story_count, diversities) -%}
    case
        when {{ story_count }} < {{ selected_story_count }} then 'not_measured'
        when {{ story_count }} < 2 then 'too_few_stories'
        when
            {{ diversities }}.semantic_diversity is null
            or {{ diversities }}.lexical_diversity is null
            or {{ diversities }}.syntactic_diversity is null
            then 'empty_word_sets'
        when {{ story_count }} < story_sets.requested_story_count then 'incomplete'
        when {{ story_count }} > story_sets.requested_story_count then 'more_than_requested'
        else 'ok'
    end
{%- endmacro %}
