"""What was measured of texts, and diversity vectors that came ready."""

from __future__ import annotations

import sqlalchemy as sa

from warehouse.tables.columns import key, may, metadata, must

text_embeddings = sa.Table(
    "text_embeddings",
    metadata,
    key("text_id", "Text that was embedded."),
    key("word_limit", "Words the text was cut to first. 0: the whole text.", sa.Integer),
    key("embedding_model_name", "Embedding model, resolved."),
    key("max_tokens", "Word pieces after which the model cut the text.", sa.Integer),
    must("embedded_tokens", sa.Integer, "Word pieces that entered the embedding.", minimum=0),
    must("truncated_tokens", sa.Integer, "Word pieces cut off, 0 where none were.", minimum=0),
    must("embedding", sa.ARRAY(sa.REAL), "Sentence embedding, dimensionless, float32."),
    comment="One row per text, word limit, embedding model and token limit that was embedded.",
)

text_word_sets = sa.Table(
    "text_word_sets",
    metadata,
    key("text_id", "Text whose words these are."),
    key("word_limit", "Words the text was cut to first. 0: the whole text.", sa.Integer),
    must("words", sa.ARRAY(sa.String), "Distinct lower-cased words, sorted by code point."),
    must(
        "word_count",
        sa.Integer,
        "Words of the text after the cut, repeated ones counted again.",
        minimum=0,
    ),
    comment="One row per text and word limit: its set of words.",
)

text_pos_bigrams = sa.Table(
    "text_pos_bigrams",
    metadata,
    key("text_id", "Text that was tagged."),
    key("word_limit", "Words the text was cut to first. 0: the whole text.", sa.Integer),
    key("tagging_model_name", "Tagging model, resolved."),
    key("max_characters", "Characters after which the text was cut before tagging.", sa.Integer),
    must(
        "pos_bigrams",
        sa.ARRAY(sa.String),
        "Distinct pairs of neighbouring part-of-speech tags, as 'NOUN VERB', sorted by code point.",
    ),
    must("tagged_characters", sa.Integer, "Characters that were tagged.", minimum=0),
    must("truncated_characters", sa.Integer, "Characters cut off, 0 where none were.", minimum=0),
    comment="One row per text, word limit, tagging model and character limit that was tagged.",
)

diversity_vectors = sa.Table(
    "diversity_vectors",
    metadata,
    key("study_name", "Study that the vector belongs to."),
    key("prompt_id", "Prompt that the stories answered."),
    key("story_source_name", "'human', or '<language_model_name>/<decoding_strategy_name>'."),
    may(
        "semantic_diversity",
        sa.Double,
        "Mean pairwise cosine distance, in [0, 1]. NULL: not given.",
        is_finite=True,
    ),
    may(
        "lexical_diversity",
        sa.Double,
        "Mean pairwise Jaccard distance of word sets, in [0, 1]. NULL: not given.",
        is_finite=True,
    ),
    may(
        "syntactic_diversity",
        sa.Double,
        "Mean pairwise Jaccard distance of part-of-speech bigrams, in [0, 1]. NULL: not given.",
        is_finite=True,
    ),
    must(
        "story_kind",
        sa.String,
        "Who wrote the stories: 'human' or 'generated'.",
        one_of=("human", "generated"),
    ),
    may("language_model_name", sa.String, "Language model that wrote them. NULL: humans did."),
    may("decoding_strategy_name", sa.String, "Decoding strategy. NULL: humans wrote them."),
    may(
        "sampling_temperature",
        sa.Double,
        "Sampling temperature of the decoding, dimensionless. NULL: human or not known.",
        minimum=0,
        is_finite=True,
    ),
    may("story_count", sa.Integer, "Stories behind the vector. NULL: not given.", minimum=0),
    must("file_name", sa.String, "File the vector came from."),
    must("line_number", sa.BigInteger, "Line or row in that file, from 1.", minimum=1),
    must("ingest_id", sa.String, "Ingest that brought the vector."),
    comment="One row per prompt and story source whose diversity vector was imported ready-made.",
)
