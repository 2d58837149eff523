with

stories as (

    select * from {{ ref('stg_raw__stories') }}

),

stories_selected as (

    select * from {{ ref('int_stories_selected') }}

),

texts as (

    select * from {{ ref('stg_raw__texts') }}

),

prompts as (

    select * from {{ ref('stg_raw__prompts') }}

),

studies as (

    select * from {{ ref('stg_raw__studies') }}

),

text_token_counts as (

    select * from {{ ref('stg_raw__text_token_counts') }}

),

story_tokens_averaged as (

    select * from {{ ref('int_story_tokens_averaged') }}

),

prompts_cut as (

    select * from {{ ref('int_prompts_cut') }}

),

whole_stories_measured as (

    select *

    from {{ ref('int_story_cuts_measured') }}

    where text_cut = 'whole'

),

fct_stories as (

    select
        stories.study_name,
        stories.story_id,
        stories.prompt_id,
        stories.text_id,
        stories.story_source_name,
        stories.story_kind,
        stories.language_model_name,
        stories.language_model_revision,
        stories.quantization,
        stories.decoding_strategy_name,
        stories.sampling_temperature,
        stories.template_name,
        stories.sample_index,
        stories.seed,
        stories.story_status,
        stories.stop_reason,
        stories_selected.is_selected,
        stories_selected.draw_index,
        coalesce(whole_stories_measured.is_measured, false) as is_measured,
        texts.word_count,
        prompts_cut.common_word_count,
        texts.character_count,
        texts.byte_count,
        text_token_counts.story_token_count,
        stories.generated_token_count,
        stories.prompt_token_count,
        stories.generation_wall_seconds,
        whole_stories_measured.embedded_tokens,
        whole_stories_measured.truncated_tokens,
        whole_stories_measured.tagged_characters,
        whole_stories_measured.truncated_characters,
        stories.language_model_id,
        stories.decoding_strategy_id,
        stories.maximum_story_tokens,
        stories.batch_row_count,
        stories.padded_token_count,
        stories.failure,
        story_tokens_averaged.scored_token_count,
        coalesce(
            story_tokens_averaged.token_probability_status,
            case
                when stories.language_model_id is not null and stories.story_status != 'failed'
                    then 'not_given'
            end
        ) as token_probability_status,
        story_tokens_averaged.mean_confidence,
        story_tokens_averaged.log_loss_nats,
        story_tokens_averaged.mean_sampling_confidence,
        story_tokens_averaged.sampling_log_loss_nats,
        texts.story_text,
        starts_with(ltrim(texts.story_text), prompts.prompt_text) as begins_with_prompt,
        stories.file_name,
        stories.line_number

    from stories

    inner join stories_selected
        on
            stories.study_name = stories_selected.study_name
            and stories.story_id = stories_selected.story_id

    inner join studies
        on stories.study_name = studies.study_name

    left join prompts
        on
            stories.study_name = prompts.study_name
            and stories.prompt_id = prompts.prompt_id

    left join texts
        on stories.text_id = texts.text_id

    left join text_token_counts
        on
            stories.text_id = text_token_counts.text_id
            and studies.tokenizer_name = text_token_counts.tokenizer_name

    left join story_tokens_averaged
        on stories.story_id = story_tokens_averaged.story_id

    left join prompts_cut
        on
            stories.study_name = prompts_cut.study_name
            and stories.prompt_id = prompts_cut.prompt_id

    left join whole_stories_measured
        on
            stories.study_name = whole_stories_measured.study_name
            and stories.story_id = whole_stories_measured.story_id

    order by stories.study_name, stories.story_id

)

select * from fct_stories
