-- Version 2: stories generated here. The checks of raw.ingests grow by two values, which takes a new
-- table; raw.stories grows by columns that old rows leave NULL; four tables are new.

create table raw.ingests_2 (
    ingest_id varchar not null,
    study_name varchar not null,
    ingest_kind varchar not null check (ingest_kind in ('stories', 'generations', 'diversity_vectors', 'generated_stories')),
    file_name varchar not null,
    content_sha256 varchar not null,
    options_json varchar not null,
    status varchar not null check (status in ('running', 'done', 'superseded')),
    row_count bigint check (row_count >= 0),
    started_at timestamp without time zone not null,
    finished_at timestamp without time zone,
    primary key (ingest_id)
);

insert into raw.ingests_2 by name select
    ingest_id,
    study_name,
    ingest_kind,
    file_name,
    content_sha256,
    options_json,
    status,
    row_count,
    started_at,
    finished_at
from raw.ingests;
drop table raw.ingests;
alter table raw.ingests_2 rename to ingests;

comment on table raw.ingests is 'One row per file (or files joined) read into a study with one set of options, or per story source generated in one way.';
comment on column raw.ingests.ingest_id is 'Hash of study, kind, options and content: the same file again is the same row.';
comment on column raw.ingests.study_name is 'Study that the rows belong to.';
comment on column raw.ingests.ingest_kind is 'What was read: ''stories'', ''generations'' or ''diversity_vectors''; ''generated_stories'' were written here by `calibrary generate`.';
comment on column raw.ingests.file_name is 'Base names of the files read, joined by '' + '', or a data set id; of stories generated here their story source.';
comment on column raw.ingests.content_sha256 is 'SHA-256 of the bytes read, 64 hexadecimal digits; of stories generated here that of options_json.';
comment on column raw.ingests.options_json is 'Options that say how the file is read, or all that generated stories depend on beside prompt and sample index, as canonical JSON.';
comment on column raw.ingests.status is '''running'' until every row is written, then ''done''. Rows of an ingest that is not done are invisible to the marts, and are taken over by the next ingest that brings them. Generated stories count as they come (''done'' from the start), until the study asks for the same story source in another way: ''superseded''.';
comment on column raw.ingests.row_count is 'Records read. NULL: not done yet, or generated.';
comment on column raw.ingests.started_at is 'When this ingest first started, UTC.';
comment on column raw.ingests.finished_at is 'When it was done, UTC. NULL: not done yet, or generated.';

alter table raw.stories add column language_model_id varchar;
alter table raw.stories add column decoding_strategy_id varchar;
alter table raw.stories add column maximum_story_tokens integer;
alter table raw.stories add column batch_row_count integer;
alter table raw.stories add column padded_token_count integer;
alter table raw.stories add column failure varchar;

comment on column raw.stories.wall_seconds is 'Time the sample took, in seconds; of a batch generated here, its time divided by its rows. NULL: human or not known.';
comment on column raw.stories.language_model_id is 'The language model as it was loaded, a key of raw.language_models. NULL: not generated here.';
comment on column raw.stories.decoding_strategy_id is 'The decoding strategy, a key of raw.decoding_strategies. NULL: not generated here.';
comment on column raw.stories.maximum_story_tokens is 'Length limit of the request, in tokens. NULL: not generated here.';
comment on column raw.stories.batch_row_count is 'Rows of the batch that the sample was written in. NULL: not generated here.';
comment on column raw.stories.padded_token_count is 'Tokens that the prompts of that batch were padded to. NULL: failed, or not generated here by a model that was loaded.';
comment on column raw.stories.failure is 'Why the sample failed, one sentence. NULL: it did not.';

comment on column raw.runs.command is 'Stage that ran: ''ingest'', ''generate'', ''measure'' or ''build''.';

create table raw.language_models (
    language_model_id varchar not null,
    language_model_name varchar not null,
    weights_name varchar not null,
    language_model_revision varchar not null,
    weights_sha256 varchar,
    tokenizer_sha256 varchar,
    quantization varchar not null,
    dtype_name varchar not null,
    template_name varchar not null check (template_name in ('chat', 'plain')),
    template_sha256 varchar not null,
    template_text varchar not null,
    backend_name varchar not null check (backend_name in ('transformers', 'completions_endpoint')),
    parameter_count bigint check (parameter_count >= 0),
    context_tokens integer check (context_tokens >= 1),
    primary key (language_model_id)
);

comment on table raw.language_models is 'One row per language model that stories were generated with, as it was loaded.';
comment on column raw.language_models.language_model_id is 'Hash of everything below but counts.';
comment on column raw.language_models.language_model_name is 'Name in the study.';
comment on column raw.language_models.weights_name is 'Hub id, packaged name, name of the folder or file, or the model''s name at an endpoint.';
comment on column raw.language_models.language_model_revision is 'Commit on the hub, ''sha256:'' and 32 digits over weights and tokenizer files, or the study''s word for what an endpoint serves.';
comment on column raw.language_models.weights_sha256 is 'SHA-256 over the weight files. NULL: at an endpoint.';
comment on column raw.language_models.tokenizer_sha256 is 'SHA-256 over the tokenizer files. NULL: none was read.';
comment on column raw.language_models.quantization is '''none'', ''int8'' or ''nf4''; ''unknown'' at an endpoint.';
comment on column raw.language_models.dtype_name is 'Precision of the arithmetic; ''unknown'' at an endpoint.';
comment on column raw.language_models.template_name is 'How prompts are framed: ''chat'' (the tokenizer''s own template) or ''plain''.';
comment on column raw.language_models.template_sha256 is 'SHA-256 of template_text, 64 hexadecimal digits.';
comment on column raw.language_models.template_text is 'The frame, and for a chat the tokenizer''s template.';
comment on column raw.language_models.backend_name is 'What wrote the stories: ''transformers'' or ''completions_endpoint''.';
comment on column raw.language_models.parameter_count is 'Parameters. NULL: not known.';
comment on column raw.language_models.context_tokens is 'Tokens that prompt and story may have together. NULL: not known.';

create table raw.decoding_strategies (
    decoding_strategy_id varchar not null,
    decoding_strategy_name varchar not null,
    sampling_temperature double precision not null check (sampling_temperature >= 0),
    top_k integer check (top_k >= 1),
    nucleus_mass double precision check (isfinite(nucleus_mass)),
    typical_mass double precision check (isfinite(typical_mass)),
    primary key (decoding_strategy_id)
);

comment on table raw.decoding_strategies is 'One row per decoding strategy that stories were generated with; what is NULL was off.';
comment on column raw.decoding_strategies.decoding_strategy_id is 'Hash of name and parameters.';
comment on column raw.decoding_strategies.decoding_strategy_name is 'Name in the study.';
comment on column raw.decoding_strategies.sampling_temperature is 'Sampling temperature, dimensionless; 0 is greedy.';
comment on column raw.decoding_strategies.top_k is 'Likeliest tokens kept. NULL: all.';
comment on column raw.decoding_strategies.nucleus_mass is 'Probability that the likeliest tokens kept must reach, in (0, 1). NULL: all are kept.';
comment on column raw.decoding_strategies.typical_mass is 'Probability that the tokens kept, nearest to the entropy first, must reach, in (0, 1). NULL: all are kept.';

create table raw.generation_requests (
    ingest_id varchar not null,
    prompt_id varchar not null,
    study_name varchar not null,
    story_source_name varchar not null,
    samples_per_prompt integer not null check (samples_per_prompt >= 1),
    primary key (ingest_id, prompt_id)
);

comment on table raw.generation_requests is 'One row per set of samples that `calibrary generate` was asked for.';
comment on column raw.generation_requests.ingest_id is 'The way the story source is generated, a key of raw.ingests.';
comment on column raw.generation_requests.prompt_id is 'Prompt that it was asked.';
comment on column raw.generation_requests.study_name is 'Study that asked.';
comment on column raw.generation_requests.story_source_name is '''<language_model_name>/<decoding_strategy_name>'' asked.';
comment on column raw.generation_requests.samples_per_prompt is 'Most samples ever asked for; asking for fewer later takes none back.';

create table raw.story_tokens (
    story_id varchar not null,
    token_ids integer[] not null,
    confidences real[] not null,
    log_probabilities_nats real[] not null,
    sampling_confidences real[] not null,
    sampling_log_probabilities_nats real[] not null,
    primary key (story_id)
);

comment on table raw.story_tokens is 'One row per story generated here, with its tokens as arrays of equal length; an element is NULL where an endpoint does not say it.';
comment on column raw.story_tokens.story_id is 'Generated story, a key of raw.stories; the same request is the same story.';
comment on column raw.story_tokens.token_ids is 'Tokens as they came, the one that ended the story included, in the language model''s own vocabulary.';
comment on column raw.story_tokens.confidences is 'Per token, the probability of the likeliest token under the language model itself (temperature 1, nothing cut off), in (0, 1].';
comment on column raw.story_tokens.log_probabilities_nats is 'Per token, its natural log-probability under the language model itself, at most 0.';
comment on column raw.story_tokens.sampling_confidences is 'Per token, the probability of the likeliest token of the distribution drawn from, in (0, 1].';
comment on column raw.story_tokens.sampling_log_probabilities_nats is 'Per token, its natural log-probability under the distribution drawn from, at most 0.';

create table raw.other_prompt_ids (
    study_name VARCHAR,
    source_prompt_id VARCHAR,
    prompt_id VARCHAR,
    ingest_id VARCHAR NOT NULL,
    PRIMARY KEY(study_name, source_prompt_id, prompt_id)
);

comment on table raw.other_prompt_ids is 'One row per id of a prompt beside the one it goes by: one text under several ids.';
comment on column raw.other_prompt_ids.study_name is 'Study that the prompt belongs to.';
comment on column raw.other_prompt_ids.source_prompt_id is 'A further id of the prompt, in some file.';
comment on column raw.other_prompt_ids.prompt_id is 'The prompt.';
comment on column raw.other_prompt_ids.ingest_id is 'Ingest that brought the id.';

comment on column raw.studies.samples_per_prompt is 'Samples expected of every story source per prompt. NULL: as many as the story source''s own sample indexes say.';
