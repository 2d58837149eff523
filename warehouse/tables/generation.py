"""What was asked of language models, how they were loaded, and the tokens they wrote."""

from __future__ import annotations

import sqlalchemy as sa

from warehouse.tables.columns import key, may, metadata, must

language_models = sa.Table(
    "language_models",
    metadata,
    key("language_model_id", "Hash of everything below but counts."),
    must("language_model_name", sa.String, "Name in the study."),
    must(
        "weights_name",
        sa.String,
        "Hub id, packaged name, name of the folder or file, the model's name at an endpoint, or "
        "the kind of what was trained here.",
    ),
    must(
        "language_model_revision",
        sa.String,
        "Commit on the hub, 'sha256:' and 32 digits over weights and tokenizer files (trained "
        "here: over all that it was trained from), or the study's word for what an endpoint has.",
    ),
    may(
        "weights_sha256",
        sa.String,
        "SHA-256 over the weight files. NULL: at an endpoint, or trained here.",
    ),
    may("tokenizer_sha256", sa.String, "SHA-256 over the tokenizer files. NULL: none was read."),
    must("quantization", sa.String, "'none', 'int8' or 'nf4'; 'unknown' at an endpoint."),
    must("dtype_name", sa.String, "Precision of the arithmetic; 'unknown' at an endpoint."),
    must(
        "template_name",
        sa.String,
        "How prompts are framed: 'chat' (the tokenizer's own template), 'plain', or 'none' where "
        "there are none.",
        one_of=("chat", "plain", "none"),
    ),
    must("template_sha256", sa.String, "SHA-256 of template_text, 64 hexadecimal digits."),
    must("template_text", sa.String, "The frame, and for a chat the tokenizer's template."),
    must(
        "backend_name",
        sa.String,
        "What wrote or scored: 'transformers', 'completions_endpoint' or 'trained_here'.",
        one_of=("transformers", "completions_endpoint", "trained_here"),
    ),
    may("parameter_count", sa.BigInteger, "Parameters. NULL: not known.", minimum=0),
    may(
        "context_tokens",
        sa.Integer,
        "Tokens that prompt and story may have together. NULL: not known.",
        minimum=1,
    ),
    comment="One row per language model that generated stories or scored tokens, as it was loaded.",
)

decoding_strategies = sa.Table(
    "decoding_strategies",
    metadata,
    key("decoding_strategy_id", "Hash of name and parameters."),
    must("decoding_strategy_name", sa.String, "Name in the study."),
    must(
        "sampling_temperature",
        sa.Double,
        "Sampling temperature, dimensionless; 0 is greedy.",
        minimum=0,
    ),
    may("top_k", sa.Integer, "Likeliest tokens kept. NULL: all.", minimum=1),
    may(
        "nucleus_mass",
        sa.Double,
        "Probability that the likeliest tokens kept must reach, in (0, 1). NULL: all are kept.",
        is_finite=True,
    ),
    may(
        "typical_mass",
        sa.Double,
        "Probability that the tokens kept, nearest to the entropy first, must reach, in (0, 1). "
        "NULL: all are kept.",
        is_finite=True,
    ),
    comment="One row per decoding strategy that stories were generated with; what is NULL was off.",
)

generation_requests = sa.Table(
    "generation_requests",
    metadata,
    key("ingest_id", "The way the story source is generated, a key of raw.ingests."),
    key("prompt_id", "Prompt that it was asked."),
    must("study_name", sa.String, "Study that asked."),
    must("story_source_name", sa.String, "'<language_model_name>/<decoding_strategy_name>' asked."),
    must(
        "samples_per_prompt",
        sa.Integer,
        "Most samples ever asked for; asking for fewer later takes none back.",
        minimum=1,
    ),
    comment="One row per set of samples that `calibrary generate` was asked for.",
)

story_tokens = sa.Table(
    "story_tokens",
    metadata,
    key("story_id", "Generated story, a key of raw.stories; the same request is the same story."),
    must(
        "token_ids",
        sa.ARRAY(sa.Integer),
        "Tokens as they came, the one that ended the story included, in the language model's own "
        "vocabulary.",
    ),
    must(
        "confidences",
        sa.ARRAY(sa.REAL),
        "Per token, the probability of the likeliest token under the language model itself "
        "(temperature 1, nothing cut off), in (0, 1].",
    ),
    must(
        "log_probabilities_nats",
        sa.ARRAY(sa.REAL),
        "Per token, its natural log-probability under the language model itself, at most 0.",
    ),
    must(
        "sampling_confidences",
        sa.ARRAY(sa.REAL),
        "Per token, the probability of the likeliest token of the distribution drawn from, in "
        "(0, 1].",
    ),
    must(
        "sampling_log_probabilities_nats",
        sa.ARRAY(sa.REAL),
        "Per token, its natural log-probability under the distribution drawn from, at most 0.",
    ),
    comment="One row per story generated here, with its tokens as arrays of equal length; an "
    "element is NULL where an endpoint does not say it.",
)
