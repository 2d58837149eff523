-- Version 6: figures that publications showed, to compare the next one with.

CREATE TABLE raw.published_figures (
    publication_id VARCHAR NOT NULL,
    figure_id VARCHAR NOT NULL,
    study_name VARCHAR NOT NULL,
    figure_set_id VARCHAR NOT NULL,
    figure_kind VARCHAR NOT NULL,
    measure_name VARCHAR NOT NULL,
    test_set_name VARCHAR,
    language_model_name VARCHAR,
    binning VARCHAR,
    story_source_name VARCHAR,
    coordinate_frame VARCHAR,
    axes VARCHAR,
    figure_value DOUBLE PRECISION,
    noise_floor DOUBLE PRECISION,
    noise_sd DOUBLE PRECISION,
    noise_kind VARCHAR NOT NULL,
    sample_count BIGINT NOT NULL CHECK (sample_count >= 0),
    sample_id VARCHAR NOT NULL,
    definition_json VARCHAR NOT NULL,
    PRIMARY KEY (publication_id, figure_id)
);
