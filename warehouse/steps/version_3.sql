-- Version 3: scored tokens and forecasts. The checks of raw.ingests and raw.rejects grow, which takes
-- new tables, since DuckDB cannot change a check; two tables are new.

create table raw.ingests_3 (
    ingest_id VARCHAR,
    study_name VARCHAR NOT NULL,
    ingest_kind VARCHAR NOT NULL,
    file_name VARCHAR NOT NULL,
    content_sha256 VARCHAR NOT NULL,
    options_json VARCHAR NOT NULL,
    status VARCHAR NOT NULL,
    row_count BIGINT,
    started_at TIMESTAMP NOT NULL,
    finished_at TIMESTAMP,
    CHECK((ingest_kind IN ('stories', 'generations', 'diversity_vectors', 'generated_stories', 'forecasts'))),
    CHECK((status IN ('running', 'done', 'superseded'))),
    CHECK((row_count >= 0)),
    PRIMARY KEY(ingest_id)
);

insert into raw.ingests_3 by name select
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
alter table raw.ingests_3 rename to ingests;

comment on table raw.ingests is 'One row per file (or files joined) read into a study with one set of options, or per story source generated in one way.';
comment on column raw.ingests.ingest_id is 'Hash of study, kind, options and content: the same file again is the same row.';
comment on column raw.ingests.study_name is 'Study that the rows belong to.';
comment on column raw.ingests.ingest_kind is 'What was read: ''stories'', ''generations'', ''diversity_vectors'' or ''forecasts''; ''generated_stories'' were written here by `calibrary generate`.';
comment on column raw.ingests.file_name is 'Base names of the files read, joined by '' + '', or a data set id; of stories generated here their story source.';
comment on column raw.ingests.content_sha256 is 'SHA-256 of the bytes read, 64 hexadecimal digits; of stories generated here that of options_json.';
comment on column raw.ingests.options_json is 'Options that say how the file is read, or all that generated stories depend on beside prompt and sample index, as canonical JSON.';
comment on column raw.ingests.status is '''running'' until every row is written, then ''done''. Rows of an ingest that is not done are invisible to the marts, and are taken over by the next ingest that brings them. Generated stories count as they come (''done'' from the start), until the study asks for the same story source in another way: ''superseded''.';
comment on column raw.ingests.row_count is 'Records read. NULL: not done yet, or generated.';
comment on column raw.ingests.started_at is 'When this ingest first started, UTC.';
comment on column raw.ingests.finished_at is 'When it was done, UTC. NULL: not done yet, or generated.';

create table raw.rejects_3 (
    reject_id VARCHAR,
    study_name VARCHAR NOT NULL,
    reject_kind VARCHAR NOT NULL,
    reason VARCHAR NOT NULL,
    detail VARCHAR NOT NULL,
    prompt_id VARCHAR,
    story_id VARCHAR,
    file_name VARCHAR,
    line_number BIGINT,
    ingest_id VARCHAR,
    selection_id VARCHAR,
    CHECK((reject_kind IN ('prompt', 'story', 'sample', 'vector', 'token'))),
    CHECK((reason IN ('prompt_too_short', 'prompt_too_long', 'too_few_stories', 'beyond_prompt_count', 'no_stories', 'story_too_short', 'story_too_long', 'empty_story', 'duplicate_story', 'prompt_rejected', 'beyond_stories_per_prompt', 'unknown_prompt', 'duplicate_sample', 'not_a_probability', 'impossible_outcome'))),
    CHECK((line_number >= 1)),
    PRIMARY KEY(reject_id)
);

insert into raw.rejects_3 by name select
    reject_id,
    study_name,
    reject_kind,
    reason,
    detail,
    prompt_id,
    story_id,
    file_name,
    line_number,
    ingest_id,
    selection_id
from raw.rejects;
drop table raw.rejects;
alter table raw.rejects_3 rename to rejects;

comment on table raw.rejects is 'One row per prompt, story, sample, vector or token left out, with the reason.';
comment on column raw.rejects.reject_id is 'Hash of what was rejected, where and why.';
comment on column raw.rejects.study_name is 'Study that it was rejected from.';
comment on column raw.rejects.reject_kind is 'What was rejected: ''prompt'', ''story'', ''sample'', ''vector'' or ''token''.';
comment on column raw.rejects.reason is 'Why, as one of a closed list: prompt_too_short, prompt_too_long, too_few_stories, beyond_prompt_count, no_stories, story_too_short, story_too_long, empty_story, duplicate_story, prompt_rejected, beyond_stories_per_prompt, unknown_prompt, duplicate_sample, not_a_probability, impossible_outcome.';
comment on column raw.rejects.detail is 'One sentence with the values that led to it.';
comment on column raw.rejects.prompt_id is 'Prompt concerned. NULL: not known.';
comment on column raw.rejects.story_id is 'Story concerned. NULL: a prompt was rejected, or it has no id.';
comment on column raw.rejects.file_name is 'File it came from. NULL: not known.';
comment on column raw.rejects.line_number is 'Line or row in that file, from 1. NULL: not known.';
comment on column raw.rejects.ingest_id is 'Ingest that rejected it. NULL: a selection did.';
comment on column raw.rejects.selection_id is 'Selection that rejected it. NULL: an ingest did.';

create table raw.scorings (
    scoring_id VARCHAR,
    study_name VARCHAR NOT NULL,
    test_set_name VARCHAR NOT NULL,
    language_model_name VARCHAR NOT NULL,
    outcome_count INTEGER,
    ingest_id VARCHAR NOT NULL,
    file_name VARCHAR NOT NULL,
    CHECK((outcome_count >= 1)),
    PRIMARY KEY(scoring_id)
);

comment on table raw.scorings is 'One row per language model and test set whose tokens are scored.';
comment on column raw.scorings.scoring_id is 'Hash of what was scored by what: study, test set, language model, input.';
comment on column raw.scorings.study_name is 'Study that the scored tokens belong to.';
comment on column raw.scorings.test_set_name is 'Test set whose tokens were scored.';
comment on column raw.scorings.language_model_name is 'Language model (or classifier) that forecast them.';
comment on column raw.scorings.outcome_count is 'Outcomes of a forecast. NULL: not known.';
comment on column raw.scorings.ingest_id is 'Ingest that brought the forecasts.';
comment on column raw.scorings.file_name is 'File they came from.';

create table raw.scored_tokens (
    scoring_id VARCHAR,
    token_index INTEGER,
    outcome_label VARCHAR,
    top_label VARCHAR,
    confidence DOUBLE NOT NULL,
    is_hit BOOLEAN NOT NULL,
    log_probability_nats DOUBLE,
    entropy_nats DOUBLE,
    rank INTEGER,
    mass_ahead DOUBLE,
    temperature_sketch FLOAT[],
    mass_ahead_sketch FLOAT[],
    CHECK((confidence >= 0)),
    CHECK(isfinite(log_probability_nats)),
    CHECK(isfinite(entropy_nats)),
    CHECK((rank >= 0)),
    CHECK((mass_ahead >= 0)),
    PRIMARY KEY(scoring_id, token_index)
);

comment on table raw.scored_tokens is 'One row per scored token of a test set, or imported forecast.';
comment on column raw.scored_tokens.scoring_id is 'Scoring that the token belongs to, a key of raw.scorings.';
comment on column raw.scored_tokens.token_index is 'Place of the token in its scoring, from 0.';
comment on column raw.scored_tokens.outcome_label is 'What came, as the file names it. NULL: not known.';
comment on column raw.scored_tokens.top_label is 'Likeliest outcome; the first of equals. NULL: not known.';
comment on column raw.scored_tokens.confidence is 'Probability of the top label, in [0, 1].';
comment on column raw.scored_tokens.is_hit is 'Whether the top label came.';
comment on column raw.scored_tokens.log_probability_nats is 'Log-probability of what came, at most 0. NULL: only the confidence is known.';
comment on column raw.scored_tokens.entropy_nats is 'Entropy of the forecast. NULL: only the confidence is known.';
comment on column raw.scored_tokens."rank" is 'Outcomes ahead of the one that came, 0 for a hit. NULL: only the confidence is known.';
comment on column raw.scored_tokens.mass_ahead is 'Probability of the outcomes ahead of the one that came, in [0, 1]. NULL: only the confidence is known.';
comment on column raw.scored_tokens.temperature_sketch is '16 Chebyshev coefficients of log Z in log2 of the inverse temperature. NULL: only the confidence is known.';
comment on column raw.scored_tokens.mass_ahead_sketch is 'The same over the outcomes ahead. NULL: nothing is ahead (rank 0), or it is not known.';

