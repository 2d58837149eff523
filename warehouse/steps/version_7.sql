-- Version 7: sketches of tokens as integers, which a column store packs and floats it does not:
-- degrees 0 and 1 in units of 2^-17 nats, degree k above in units of 2^-(17+k), and all of the mass
-- ahead in units twice as large. Entropy and kept mass in single precision. No row is lost.

create table raw.scored_tokens_7 (
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
    mass_ahead_sketch INTEGER[],
    PRIMARY KEY (scoring_id, document_id, token_index)
);

insert into raw.scored_tokens_7 by name select
    scoring_id,
    document_id,
    token_index,
    sentence_index,
    position,
    context_token_count,
    token_id,
    top_token_id,
    outcome_label,
    top_label,
    confidence,
    is_hit,
    log_probability_nats,
    cast(entropy_nats as float) as entropy_nats,
    "rank",
    mass_ahead,
    cast(kept_mass as float) as kept_mass,
    prediction_set_size,
    byte_count,
    is_unknown,
    is_across_join,
    -- Elements count from 1, degrees from 0.
    list_transform(
        temperature_sketch,
        lambda value, place:
            cast(cast(value as double) * pow(2, 17 + if(place > 2, place - 1, 0)) as integer)
    ) as temperature_sketch,
    list_transform(
        mass_ahead_sketch,
        lambda value, place:
            cast(cast(value as double) * pow(2, 16 + if(place > 2, place - 1, 0)) as integer)
    ) as mass_ahead_sketch
from raw.scored_tokens;
drop table raw.scored_tokens;
alter table raw.scored_tokens_7 rename to scored_tokens;
