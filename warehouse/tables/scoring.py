"""Test sets, and what language models say of their tokens."""

from __future__ import annotations

import sqlalchemy as sa

from warehouse.tables.columns import key, may, merge_key, metadata, must

test_set_texts = sa.Table(
    "test_set_texts",
    metadata,
    key("study_name", "Study that the text belongs to."),
    key("test_set_name", "Test set that the text belongs to."),
    key("document_id", "Hash of the text and what stands before it."),
    must("text_id", sa.String, "Text to score, a key of raw.texts."),
    may(
        "context_text_id",
        sa.String,
        "Text that stands before it and is read, not scored. NULL: none does.",
    ),
    must("file_name", sa.String, "File the text came from."),
    must("line_number", sa.BigInteger, "Line or row in that file, from 1.", minimum=1),
    must("ingest_id", sa.String, "Ingest that brought the text."),
    comment="One row per text of a test set that was ingested for scoring.",
)

scorings = sa.Table(
    "scorings",
    metadata,
    key("scoring_id", "Hash of what was scored by what: study, test set, language model, input."),
    must("study_name", sa.String, "Study that the scored tokens belong to."),
    must("test_set_name", sa.String, "Test set whose tokens were scored."),
    must("language_model_name", sa.String, "Language model (or classifier) that forecast them."),
    may("outcome_count", sa.Integer, "Outcomes of a forecast. NULL: not known.", minimum=1),
    must("ingest_id", sa.String, "Ingest that brought the forecasts, or scoring made here."),
    must(
        "file_name",
        sa.String,
        "File they came from; of a scoring made here '<test_set_name>/<language_model_name>'.",
    ),
    may(
        "language_model_id",
        sa.String,
        "The language model as it was loaded, a key of raw.language_models. NULL: imported.",
    ),
    may(
        "window_tokens",
        sa.Integer,
        "Tokens read at once at most. NULL: imported, or read sentence by sentence.",
    ),
    may(
        "overlap_tokens",
        sa.Integer,
        "Tokens that a later window repeats. NULL: imported, or read sentence by sentence.",
    ),
    comment="One row per language model and test set whose tokens are scored.",
)

scored_documents = sa.Table(
    "scored_documents",
    metadata,
    key("scoring_id", "Scoring that the document belongs to, a key of raw.scorings."),
    key("document_id", "Hash of the text and what stands before it."),
    may(
        "document_index",
        sa.Integer,
        "Place of the document in its test set, from 0. NULL: it is no longer in it.",
    ),
    must("text_id", sa.String, "Text that was scored, a key of raw.texts."),
    must("token_count", sa.Integer, "Tokens that were scored.", minimum=0),
    must("rejected_count", sa.Integer, "Tokens whose forecast was none.", minimum=0),
    comment="One row per document that a language model scored; written after its tokens.",
)

scored_tokens = sa.Table(
    "scored_tokens",
    metadata,
    merge_key("scoring_id", "Scoring that the token belongs to, a key of raw.scorings."),
    merge_key(
        "document_id",
        "Document that the token stands in; of imported forecasts their scoring_id.",
    ),
    merge_key(
        "token_index",
        "Place of the token in its document, its context included, from 0; of imported forecasts "
        "that in their file.",
        sa.Integer,
    ),
    may(
        "sentence_index",
        sa.Integer,
        "Sentence of the document, from 0. NULL: imported.",
    ),
    may("position", sa.Integer, "Place of the token in its sentence, from 0. NULL: imported."),
    may(
        "context_token_count",
        sa.Integer,
        "Tokens that the forecast was made from, begin-of-text included. NULL: imported.",
    ),
    may("token_id", sa.Integer, "What came, in the language model's numbers. NULL: imported."),
    may("top_token_id", sa.Integer, "Likeliest token; the lowest of equals. NULL: imported."),
    may(
        "outcome_label",
        sa.String,
        "What came, as the file or the vocabulary spells it. NULL: not known.",
    ),
    may("top_label", sa.String, "Likeliest outcome; the first of equals. NULL: not known."),
    must("confidence", sa.Double, "Probability of the top label, in [0, 1].", minimum=0),
    must("is_hit", sa.Boolean, "Whether the top label came."),
    may(
        "log_probability_nats",
        sa.Double,
        "Log-probability of what came, at most 0. NULL: only the confidence is known.",
        is_finite=True,
    ),
    may(
        "entropy_nats",
        sa.REAL,
        "Entropy of the forecast. NULL: only the confidence is known.",
        is_finite=True,
    ),
    may(
        "rank",
        sa.Integer,
        "Outcomes ahead of the one that came, 0 for a hit. NULL: only the confidence is known.",
        minimum=0,
    ),
    may(
        "mass_ahead",
        sa.Double,
        "Probability of the outcomes ahead of the one that came, in [0, 1]. NULL: only the "
        "confidence is known.",
        minimum=0,
    ),
    may(
        "kept_mass",
        sa.REAL,
        "Probability of the 0.9 nucleus, in [0.9, 1]. NULL: imported.",
        is_finite=True,
    ),
    may("prediction_set_size", sa.Integer, "Tokens of that nucleus, from 1. NULL: imported."),
    may(
        "byte_count",
        sa.Integer,
        "UTF-8 bytes of the text that the token adds; they sum to the text's. NULL: imported.",
        minimum=0,
    ),
    may(
        "is_unknown",
        sa.Boolean,
        "Whether it came as the token for words outside the vocabulary. NULL: imported.",
    ),
    may(
        "is_across_join",
        sa.Boolean,
        "Whether it begins in the context, which is not scored, and ends in the text. NULL: "
        "imported.",
    ),
    # Lists, not arrays: an array takes its 64 bytes even where it is NULL. Integers, not floats:
    # only those are packed.
    may(
        "temperature_sketch",
        sa.ARRAY(sa.Integer),
        "16 Chebyshev coefficients of log Z in log2 of the inverse temperature, in units of 2^-17 "
        "nats for degrees 0 and 1 and of 2^-(17+k) for degree k above. NULL: only the confidence "
        "is known.",
    ),
    may(
        "mass_ahead_sketch",
        sa.ARRAY(sa.Integer),
        "The same over the outcomes ahead, in units twice as large. NULL: nothing is ahead "
        "(rank 0), or it is not known.",
    ),
    comment="One row per scored token of a test set, or imported forecast.",
)

filings = sa.Table(
    "filings",
    metadata,
    key("study_name", "Study that the filing was read into."),
    key("test_set_name", "Test set that its Item 7 belongs to."),
    key("filing_id", "Hash of what the filing says of itself and of its content."),
    may("accession_number", sa.String, "Accession number of the submission. NULL: not said."),
    may("cik", sa.String, "Central Index Key of the filer, digits. NULL: not said."),
    may("form_name", sa.String, "Form in capitals, as '10-K405'. NULL: it cannot be told."),
    may("period_of_report", sa.String, "End of the period, as YYYYMMDD. NULL: not said."),
    may(
        "fiscal_year",
        sa.Integer,
        "Year in which the period ends; where EDGAR lists none, that of 90 days before it was "
        "filed. NULL: neither is known.",
    ),
    must(
        "item_7_status",
        sa.String,
        "What came of looking for Item 7: 'extracted', 'incorporated_by_reference', 'missing', "
        "'unsupported_form' or 'malformed'.",
        one_of=(
            "extracted",
            "incorporated_by_reference",
            "missing",
            "unsupported_form",
            "malformed",
        ),
    ),
    must("reason", sa.String, "Why, with the lines or words found."),
    must(
        "filing_character_count",
        sa.Integer,
        "Characters of the main document's text, markup left out.",
        minimum=0,
    ),
    must(
        "item_7_character_count",
        sa.Integer,
        "Characters of Item 7 as kept, 0 unless extracted.",
        minimum=0,
    ),
    must("has_tables", sa.Boolean, "Whether rows of figures were asked to be kept."),
    may("document_id", sa.String, "Document of the test set. NULL: not extracted."),
    must("file_name", sa.String, "File the filing came from."),
    must("line_number", sa.BigInteger, "Line or row in that file, from 1.", minimum=1),
    must("ingest_id", sa.String, "Ingest that brought the filing."),
    comment="One row per filing of a test set, whatever became of its Item 7.",
)
