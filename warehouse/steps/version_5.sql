-- Version 5: filings, and language models trained here. The checks of raw.ingests and
-- raw.language_models grow, which takes new tables, since DuckDB cannot change a check; four tables
-- are new.

CREATE TABLE raw.ingests_5 (
    ingest_id VARCHAR NOT NULL,
    study_name VARCHAR NOT NULL,
    ingest_kind VARCHAR NOT NULL CHECK (ingest_kind in ('stories', 'generations', 'diversity_vectors', 'generated_stories', 'forecasts', 'texts', 'scored_tokens', 'filings', 'synthetic_filings')),
    file_name VARCHAR NOT NULL,
    content_sha256 VARCHAR NOT NULL,
    options_json VARCHAR NOT NULL,
    status VARCHAR NOT NULL CHECK (status in ('running', 'done', 'superseded')),
    row_count BIGINT CHECK (row_count >= 0),
    started_at TIMESTAMP WITHOUT TIME ZONE NOT NULL,
    finished_at TIMESTAMP WITHOUT TIME ZONE,
    PRIMARY KEY (ingest_id)
);

insert into raw.ingests_5 by name select
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
alter table raw.ingests_5 rename to ingests;

CREATE TABLE raw.language_models_5 (
    language_model_id VARCHAR NOT NULL,
    language_model_name VARCHAR NOT NULL,
    weights_name VARCHAR NOT NULL,
    language_model_revision VARCHAR NOT NULL,
    weights_sha256 VARCHAR,
    tokenizer_sha256 VARCHAR,
    quantization VARCHAR NOT NULL,
    dtype_name VARCHAR NOT NULL,
    template_name VARCHAR NOT NULL CHECK (template_name in ('chat', 'plain', 'none')),
    template_sha256 VARCHAR NOT NULL,
    template_text VARCHAR NOT NULL,
    backend_name VARCHAR NOT NULL CHECK (backend_name in ('transformers', 'completions_endpoint', 'trained_here')),
    parameter_count BIGINT CHECK (parameter_count >= 0),
    context_tokens INTEGER CHECK (context_tokens >= 1),
    PRIMARY KEY (language_model_id)
);

insert into raw.language_models_5 by name select
    language_model_id,
    language_model_name,
    weights_name,
    language_model_revision,
    weights_sha256,
    tokenizer_sha256,
    quantization,
    dtype_name,
    template_name,
    template_sha256,
    template_text,
    backend_name,
    parameter_count,
    context_tokens
from raw.language_models;
drop table raw.language_models;
alter table raw.language_models_5 rename to language_models;

CREATE TABLE raw.filings (
    study_name VARCHAR NOT NULL,
    test_set_name VARCHAR NOT NULL,
    filing_id VARCHAR NOT NULL,
    accession_number VARCHAR,
    cik VARCHAR,
    form_name VARCHAR,
    period_of_report VARCHAR,
    fiscal_year INTEGER,
    item_7_status VARCHAR NOT NULL CHECK (item_7_status in ('extracted', 'incorporated_by_reference', 'missing', 'unsupported_form', 'malformed')),
    reason VARCHAR NOT NULL,
    filing_character_count INTEGER NOT NULL CHECK (filing_character_count >= 0),
    item_7_character_count INTEGER NOT NULL CHECK (item_7_character_count >= 0),
    has_tables BOOLEAN NOT NULL,
    document_id VARCHAR,
    file_name VARCHAR NOT NULL,
    line_number BIGINT NOT NULL CHECK (line_number >= 1),
    ingest_id VARCHAR NOT NULL,
    PRIMARY KEY (study_name, test_set_name, filing_id)
);

CREATE TABLE raw.trained_language_models (
    language_model_id VARCHAR NOT NULL,
    language_model_kind VARCHAR NOT NULL CHECK (language_model_kind in ('kneser_ney_trigram', 'loglinear_bigram', 'decoder', 'fact_model')),
    training_sha256 VARCHAR NOT NULL,
    training_token_count INTEGER NOT NULL CHECK (training_token_count >= 1),
    outcome_count INTEGER NOT NULL CHECK (outcome_count >= 1),
    seed INTEGER,
    discount_factor DOUBLE PRECISION CHECK (isfinite(discount_factor)),
    is_capped BOOLEAN,
    trigram_discount DOUBLE PRECISION,
    bigram_discount DOUBLE PRECISION,
    unigram_discount DOUBLE PRECISION,
    penalty DOUBLE PRECISION CHECK (isfinite(penalty)),
    squared_weight_norm DOUBLE PRECISION CHECK (isfinite(squared_weight_norm)),
    gradient_norm DOUBLE PRECISION CHECK (isfinite(gradient_norm)),
    training_log_loss_nats DOUBLE PRECISION CHECK (isfinite(training_log_loss_nats)),
    training_derivative_at_1_nats DOUBLE PRECISION CHECK (isfinite(training_derivative_at_1_nats)),
    training_fitted_temperature DOUBLE PRECISION CHECK (isfinite(training_fitted_temperature)),
    weights_file_name VARCHAR,
    PRIMARY KEY (language_model_id)
);

CREATE TABLE raw.exact_fits (
    scoring_id VARCHAR NOT NULL,
    token_group VARCHAR NOT NULL,
    token_count BIGINT NOT NULL CHECK (token_count >= 1),
    fit_status VARCHAR NOT NULL CHECK (fit_status in ('converged', 'no_finite_optimum', 'flat')),
    fitted_temperature DOUBLE PRECISION CHECK (isfinite(fitted_temperature)),
    log_loss_nats DOUBLE PRECISION CHECK (isfinite(log_loss_nats)),
    log_loss_at_1_nats DOUBLE PRECISION NOT NULL,
    log_loss_at_pooled_nats DOUBLE PRECISION CHECK (isfinite(log_loss_at_pooled_nats)),
    derivative_at_1_nats DOUBLE PRECISION NOT NULL,
    mean_confidence DOUBLE PRECISION NOT NULL,
    accuracy DOUBLE PRECISION NOT NULL,
    temperature_gain_nats DOUBLE PRECISION CHECK (isfinite(temperature_gain_nats)),
    unknown_map_gain_nats DOUBLE PRECISION CHECK (isfinite(unknown_map_gain_nats)),
    is_unknown_last BOOLEAN,
    row_rank_correlation DOUBLE PRECISION CHECK (isfinite(row_rank_correlation)),
    PRIMARY KEY (scoring_id, token_group)
);

CREATE TABLE raw.fact_probes (
    scoring_id VARCHAR NOT NULL,
    token_index INTEGER NOT NULL,
    mention_count INTEGER NOT NULL CHECK (mention_count >= 0),
    PRIMARY KEY (scoring_id, token_index)
);
