-- Version 4: tokens scored here. The checks of raw.ingests and raw.rejects grow and the key of
-- raw.scored_tokens takes in the document, which takes new tables, since DuckDB can change neither.

create table raw.ingests_4 (
    ingest_id VARCHAR NOT NULL,
    study_name VARCHAR NOT NULL,
    ingest_kind VARCHAR NOT NULL CHECK (ingest_kind in ('stories', 'generations', 'diversity_vectors', 'generated_stories', 'forecasts', 'texts', 'scored_tokens')),
    file_name VARCHAR NOT NULL,
    content_sha256 VARCHAR NOT NULL,
    options_json VARCHAR NOT NULL,
    status VARCHAR NOT NULL CHECK (status in ('running', 'done', 'superseded')),
    row_count BIGINT CHECK (row_count >= 0),
    started_at TIMESTAMP NOT NULL,
    finished_at TIMESTAMP,
    PRIMARY KEY (ingest_id)
);

insert into raw.ingests_4 by name select
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
alter table raw.ingests_4 rename to ingests;

create table raw.rejects_4 (
    reject_id VARCHAR NOT NULL,
    study_name VARCHAR NOT NULL,
    reject_kind VARCHAR NOT NULL CHECK (reject_kind in ('prompt', 'story', 'sample', 'vector', 'token', 'text')),
    reason VARCHAR NOT NULL CHECK (reason in ('prompt_too_short', 'prompt_too_long', 'too_few_stories', 'beyond_prompt_count', 'no_stories', 'story_too_short', 'story_too_long', 'empty_story', 'duplicate_story', 'prompt_rejected', 'beyond_stories_per_prompt', 'unknown_prompt', 'duplicate_sample', 'not_a_probability', 'impossible_outcome', 'empty_text', 'duplicate_text')),
    detail VARCHAR NOT NULL,
    prompt_id VARCHAR,
    story_id VARCHAR,
    file_name VARCHAR,
    line_number BIGINT CHECK (line_number >= 1),
    ingest_id VARCHAR,
    selection_id VARCHAR,
    PRIMARY KEY (reject_id)
);

insert into raw.rejects_4 by name select
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
alter table raw.rejects_4 rename to rejects;

create table raw.scored_tokens_4 (
    scoring_id VARCHAR NOT NULL,
    document_id VARCHAR NOT NULL,
    token_index INTEGER NOT NULL,
    sentence_index INTEGER,
    position INTEGER,
    context_token_count INTEGER,
    token_id INTEGER,
    top_token_id INTEGER,
    outcome_label VARCHAR,
    top_label VARCHAR,
    confidence DOUBLE NOT NULL CHECK (confidence >= 0),
    is_hit BOOLEAN NOT NULL,
    log_probability_nats DOUBLE CHECK (isfinite(log_probability_nats)),
    entropy_nats DOUBLE CHECK (isfinite(entropy_nats)),
    rank INTEGER CHECK (rank >= 0),
    mass_ahead DOUBLE CHECK (mass_ahead >= 0),
    kept_mass DOUBLE CHECK (isfinite(kept_mass)),
    prediction_set_size INTEGER,
    byte_count INTEGER CHECK (byte_count >= 0),
    is_unknown BOOLEAN,
    is_across_join BOOLEAN,
    temperature_sketch FLOAT[],
    mass_ahead_sketch FLOAT[],
    PRIMARY KEY (scoring_id, document_id, token_index)
);

insert into raw.scored_tokens_4 by name select
    scoring_id,
    scoring_id as document_id,
    token_index,
    outcome_label,
    top_label,
    confidence,
    is_hit,
    log_probability_nats,
    entropy_nats,
    "rank",
    mass_ahead,
    temperature_sketch,
    mass_ahead_sketch
from raw.scored_tokens;
drop table raw.scored_tokens;
alter table raw.scored_tokens_4 rename to scored_tokens;

alter table raw.scorings add column language_model_id VARCHAR;
alter table raw.scorings add column window_tokens INTEGER;
alter table raw.scorings add column overlap_tokens INTEGER;

create table raw.test_set_texts (
    study_name VARCHAR NOT NULL,
    test_set_name VARCHAR NOT NULL,
    document_id VARCHAR NOT NULL,
    text_id VARCHAR NOT NULL,
    context_text_id VARCHAR,
    file_name VARCHAR NOT NULL,
    line_number BIGINT NOT NULL CHECK (line_number >= 1),
    ingest_id VARCHAR NOT NULL,
    PRIMARY KEY (study_name, test_set_name, document_id)
);

create table raw.scored_documents (
    scoring_id VARCHAR NOT NULL,
    document_id VARCHAR NOT NULL,
    document_index INTEGER,
    text_id VARCHAR NOT NULL,
    token_count INTEGER NOT NULL CHECK (token_count >= 0),
    rejected_count INTEGER NOT NULL CHECK (rejected_count >= 0),
    PRIMARY KEY (scoring_id, document_id)
);
