-- Version 8: scored tokens without the index of their key, which took 8.5 bytes of each and is not
-- needed to find what is there already: rows are merged. No row is lost.

create table raw.scored_tokens_8 (
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
    entropy_nats FLOAT CHECK (isfinite(entropy_nats)),
    rank INTEGER CHECK (rank >= 0),
    mass_ahead DOUBLE CHECK (mass_ahead >= 0),
    kept_mass FLOAT CHECK (isfinite(kept_mass)),
    prediction_set_size INTEGER,
    byte_count INTEGER CHECK (byte_count >= 0),
    is_unknown BOOLEAN,
    is_across_join BOOLEAN,
    temperature_sketch INTEGER[],
    mass_ahead_sketch INTEGER[]
);

insert into raw.scored_tokens_8 by name select * from raw.scored_tokens;
drop table raw.scored_tokens;
alter table raw.scored_tokens_8 rename to scored_tokens;
