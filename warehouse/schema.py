"""The raw tables: what was given and measured, row by row, before anything is computed from it.

Every table lives in schema ``raw`` of the work file, is written only by `warehouse.writers`, and
has a primary key and no other index: DuckDB's ``on conflict`` needs the key and can fail for ever
beside secondary indexes. Foreign keys are left to dbt's relationship tests, since in DuckDB they
forbid the updates that an upsert makes.

Ids are 32 lower-case hexadecimal digits, the first half of a SHA-256 over what the row *is*, so the
same thing read twice is the same row. Timestamps are UTC without a zone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import sqlalchemy as sa

RAW_SCHEMA = "raw"

SCHEMA_VERSION = 5
"""Version of the tables below; raised together with a step in `warehouse.migrations`."""

metadata = sa.MetaData(schema=RAW_SCHEMA)


def _key(
    name: str, comment: str, kind: type[sa.types.TypeEngine[Any]] = sa.String
) -> sa.Column[Any]:
    return sa.Column(name, kind, primary_key=True, autoincrement=False, comment=comment)


def _must(
    name: str,
    kind: sa.types.TypeEngine[Any] | type[sa.types.TypeEngine[Any]],
    comment: str,
    *,
    one_of: Sequence[str] = (),
    minimum: int | None = None,
) -> sa.Column[Any]:
    """Return a column that is never NULL."""
    return sa.Column(name, kind, *_checks(name, one_of, minimum), nullable=False, comment=comment)


def _may(
    name: str,
    kind: sa.types.TypeEngine[Any] | type[sa.types.TypeEngine[Any]],
    comment: str,
    *,
    one_of: Sequence[str] = (),
    minimum: int | None = None,
    is_finite: bool = False,
) -> sa.Column[Any]:
    """Return a column whose NULL has a meaning, which *comment* gives."""
    checks = _checks(name, one_of, minimum, is_finite=is_finite)
    return sa.Column(name, kind, *checks, nullable=True, comment=comment)


def _checks(
    name: str, one_of: Sequence[str], minimum: int | None, *, is_finite: bool = False
) -> list[sa.CheckConstraint]:
    """Return the conditions that DuckDB itself holds a column to; NULL passes them."""
    conditions = []
    if one_of:
        conditions.append(f"{name} in ({', '.join(repr(value) for value in one_of)})")
    if minimum is not None:
        conditions.append(f"{name} >= {minimum}")
    if is_finite:
        conditions.append(f"isfinite({name})")
    return [sa.CheckConstraint(condition) for condition in conditions]


schema_versions = sa.Table(
    "schema_versions",
    metadata,
    _key(
        "version", "Version of the raw tables this file was brought to, counted from 1.", sa.Integer
    ),
    _must("applied_at", sa.DateTime, "When the tables were brought to this version, UTC."),
    _must("package_version", sa.String, "Version of the calibrary package that did it."),
    comment="One row per version of the raw tables that this file has had; the largest is current.",
)

studies = sa.Table(
    "studies",
    metadata,
    _key("study_name", "Name of the study, or of data ingested on their own (--name)."),
    _may("study_file_name", sa.String, "Base name of the study file. NULL: made by options alone."),
    _must("settings_json", sa.String, "All resolved settings of the study as canonical JSON."),
    _must(
        "stories_per_prompt",
        sa.Integer,
        "Human stories drawn per prompt; prompts with fewer are rejected. At least 2.",
        minimum=2,
    ),
    _may(
        "samples_per_prompt",
        sa.Integer,
        "Samples expected of every story source per prompt. NULL: as many as the story "
        "source's own sample indexes say.",
        minimum=1,
    ),
    _may(
        "prompt_count",
        sa.Integer,
        "Largest number of prompts selected, by rank. NULL: all that qualify.",
        minimum=1,
    ),
    _must(
        "minimum_prompt_characters",
        sa.Integer,
        "Shortest prompt selected, in characters, inclusive.",
        minimum=0,
    ),
    _must(
        "maximum_prompt_characters",
        sa.Integer,
        "Longest prompt selected, in characters, inclusive.",
        minimum=0,
    ),
    _must(
        "minimum_story_tokens",
        sa.Integer,
        "Shortest human story selected, in tokens of tokenizer_name, inclusive.",
        minimum=0,
    ),
    _must(
        "maximum_story_tokens",
        sa.Integer,
        "Longest human story selected, in tokens of tokenizer_name, inclusive.",
        minimum=0,
    ),
    _must("tokenizer_name", sa.String, "Tokenizer that measures story length for the selection."),
    _must("selection_seed", sa.BigInteger, "Seed of the draw of stories within a prompt."),
    _may(
        "selection_id",
        sa.String,
        "The current selection, a key of raw.story_selections. NULL: none has been made.",
    ),
    _must("embedding_model_name", sa.String, "Sentence embedding model, resolved."),
    _must(
        "embedding_max_tokens",
        sa.Integer,
        "Word pieces after which the embedding model cuts a text, special pieces included.",
        minimum=1,
    ),
    _must("tagging_model_name", sa.String, "Part-of-speech tagging model, resolved."),
    _must(
        "tagging_max_characters",
        sa.Integer,
        "Characters after which a text is cut before tagging.",
        minimum=1,
    ),
    _must(
        "minimum_common_words",
        sa.Integer,
        "Smallest common word count: the length-controlled twin of a prompt never cuts below it, "
        "and leaves shorter stories out.",
        minimum=1,
    ),
    _must("definition_version", sa.String, "Version of the definitions the study is computed by."),
    comment="One row per study: its settings, resolved.",
)

ingests = sa.Table(
    "ingests",
    metadata,
    _key(
        "ingest_id",
        "Hash of study, kind, options and content: the same file again is the same row.",
    ),
    _must("study_name", sa.String, "Study that the rows belong to."),
    _must(
        "ingest_kind",
        sa.String,
        "What was read: 'stories', 'generations', 'diversity_vectors', 'forecasts', 'texts' or "
        "'filings'; 'synthetic_filings' and, by `calibrary generate`, 'generated_stories' were "
        "written here, 'scored_tokens' scored by `calibrary score` or `calibrary fit`.",
        one_of=(
            "stories",
            "generations",
            "diversity_vectors",
            "generated_stories",
            "forecasts",
            "texts",
            "scored_tokens",
            "filings",
            "synthetic_filings",
        ),
    ),
    _must(
        "file_name",
        sa.String,
        "Base names of the files read, joined by ' + ', or a data set id; of stories generated "
        "here their story source, of tokens scored here '<test_set_name>/<language_model_name>'.",
    ),
    _must(
        "content_sha256",
        sa.String,
        "SHA-256 of the bytes read, 64 hexadecimal digits; of stories generated and tokens scored "
        "here that of options_json.",
    ),
    _must(
        "options_json",
        sa.String,
        "Options that say how the file is read, or all that generated stories depend on beside "
        "prompt and sample index, or scored tokens beside their text, as canonical JSON.",
    ),
    _must(
        "status",
        sa.String,
        "'running' until every row is written, then 'done'. Rows of an ingest that is not done are "
        "invisible to the marts, and are taken over by the next ingest that brings them. Generated "
        "stories count as they come ('done' from the start), scored tokens when the whole test set "
        "is scored; both until the study asks for the same in another way: 'superseded'.",
        one_of=("running", "done", "superseded"),
    ),
    _may("row_count", sa.BigInteger, "Records read. NULL: not done yet, or generated.", minimum=0),
    _must("started_at", sa.DateTime, "When this ingest first started, UTC."),
    _may("finished_at", sa.DateTime, "When it was done, UTC. NULL: not done yet, or generated."),
    comment="One row per file (or files joined) read into a study with one set of options, or per "
    "story source generated in one way.",
)

prompts = sa.Table(
    "prompts",
    metadata,
    _key("study_name", "Study that the prompt belongs to."),
    _key("prompt_id", "Hash of the prompt's text, or its id in the file where no text is known."),
    _must(
        "source_prompt_id",
        sa.String,
        "The prompt's id in the file it came from; the smallest where one text has several.",
    ),
    _may("prompt_text", sa.String, "The prompt. NULL: the file has ids only."),
    _may(
        "character_count",
        sa.Integer,
        "Characters of the prompt's text. NULL: no text is known.",
        minimum=0,
    ),
    _must("ingest_id", sa.String, "Ingest that brought the prompt."),
    comment="One row per prompt of a study, rejected ones included.",
)

other_prompt_ids = sa.Table(
    "other_prompt_ids",
    metadata,
    _key("study_name", "Study that the prompt belongs to."),
    _key("source_prompt_id", "A further id of the prompt, in some file."),
    _key("prompt_id", "The prompt."),
    _must("ingest_id", sa.String, "Ingest that brought the id."),
    comment="One row per id of a prompt beside the one it goes by: one text under several ids.",
)

texts = sa.Table(
    "texts",
    metadata,
    _key("text_id", "Hash of the text, so that equal texts are stored and measured once."),
    _must("text", sa.String, "The text as read, after the file layout's own marks are undone."),
    _must("character_count", sa.Integer, "Characters (code points) of the text.", minimum=0),
    _must("byte_count", sa.Integer, "Bytes of the text in UTF-8.", minimum=0),
    _must("word_count", sa.Integer, "Words of the text, repeated ones counted again.", minimum=0),
    _must(
        "normalised_md5",
        sa.String,
        "MD5 of the text after NFC, case folding and collapsing of white space: equal for "
        "duplicates.",
    ),
    comment="One row per distinct text of any study.",
)

text_token_counts = sa.Table(
    "text_token_counts",
    metadata,
    _key("text_id", "Text that was counted."),
    _key("tokenizer_name", "Tokenizer that counted it, resolved."),
    _must("token_count", sa.Integer, "Tokens of the text, special tokens not counted.", minimum=0),
    comment="One row per text and tokenizer that has counted its tokens.",
)

stories = sa.Table(
    "stories",
    metadata,
    _key("study_name", "Study that the story belongs to."),
    _key(
        "story_id",
        "Human: hash of prompt and text. Generated: hash of the request (prompt, language model, "
        "revision, quantization, strategy, template, sample index, seed).",
    ),
    _must("prompt_id", sa.String, "Prompt that the story answers."),
    _may("text_id", sa.String, "The story's text. NULL: the sample failed and has none."),
    _must(
        "story_kind",
        sa.String,
        "Who wrote it: 'human' or 'generated'.",
        one_of=("human", "generated"),
    ),
    _must(
        "story_source_name",
        sa.String,
        "'human', or '<language_model_name>/<decoding_strategy_name>'.",
    ),
    _may("language_model_name", sa.String, "Language model that wrote it. NULL: a human did."),
    _may(
        "language_model_revision", sa.String, "Revision of its weights. NULL: human or not known."
    ),
    _may("quantization", sa.String, "Quantization of its weights. NULL: human, none or not known."),
    _may("decoding_strategy_name", sa.String, "Decoding strategy. NULL: a human wrote it."),
    _may(
        "sampling_temperature",
        sa.Double,
        "Sampling temperature of the decoding, dimensionless, 0 for greedy. NULL: human or not "
        "known.",
        minimum=0,
        is_finite=True,
    ),
    _may("template_name", sa.String, "Template that framed the prompt. NULL: human or not known."),
    _may(
        "sample_index",
        sa.Integer,
        "Which sample of its prompt and source this is, counted from 0. NULL: human.",
        minimum=0,
    ),
    _may("seed", sa.BigInteger, "Seed of the sample. NULL: human or not known."),
    _must(
        "status",
        sa.String,
        "'ok'; 'empty' (no word in it); 'too_short' (generated, fewer than 2 words); 'truncated' "
        "(stopped by a length limit); 'failed' (no text came).",
        one_of=("ok", "empty", "too_short", "truncated", "failed"),
    ),
    _may(
        "stop_reason",
        sa.String,
        "What ended the sample: 'eos', 'length' or 'stop_string'. NULL: human or not known.",
        one_of=("eos", "length", "stop_string"),
    ),
    _may(
        "prompt_token_count", sa.Integer, "Tokens of the framed prompt. NULL: not known.", minimum=0
    ),
    _may(
        "story_token_count",
        sa.Integer,
        "Tokens of the story in the language model's own tokenizer. NULL: human or not known.",
        minimum=0,
    ),
    _may(
        "wall_seconds",
        sa.Double,
        "Time the sample took, in seconds; of a batch generated here, its time divided by its "
        "rows. NULL: human or not known.",
        minimum=0,
        is_finite=True,
    ),
    _may("file_name", sa.String, "File the story came from. NULL: generated here."),
    _may(
        "line_number", sa.BigInteger, "Line or row in that file, from 1. NULL: no file.", minimum=1
    ),
    _must("ingest_id", sa.String, "Ingest that brought the story."),
    _may(
        "language_model_id",
        sa.String,
        "The language model as it was loaded, a key of raw.language_models. NULL: not generated "
        "here.",
    ),
    _may(
        "decoding_strategy_id",
        sa.String,
        "The decoding strategy, a key of raw.decoding_strategies. NULL: not generated here.",
    ),
    _may(
        "maximum_story_tokens",
        sa.Integer,
        "Length limit of the request, in tokens. NULL: not generated here.",
    ),
    _may(
        "batch_row_count",
        sa.Integer,
        "Rows of the batch that the sample was written in. NULL: not generated here.",
    ),
    _may(
        "padded_token_count",
        sa.Integer,
        "Tokens that the prompts of that batch were padded to. NULL: failed, or not generated "
        "here by a model that was loaded.",
    ),
    _may("failure", sa.String, "Why the sample failed, one sentence. NULL: it did not."),
    comment="The ledger: one row per human story read and per sample requested of a story source. "
    "A sample that is missing has no row; nothing is filled in.",
)

language_models = sa.Table(
    "language_models",
    metadata,
    _key("language_model_id", "Hash of everything below but counts."),
    _must("language_model_name", sa.String, "Name in the study."),
    _must(
        "weights_name",
        sa.String,
        "Hub id, packaged name, name of the folder or file, the model's name at an endpoint, or "
        "the kind of what was trained here.",
    ),
    _must(
        "language_model_revision",
        sa.String,
        "Commit on the hub, 'sha256:' and 32 digits over weights and tokenizer files (trained "
        "here: over all that it was trained from), or the study's word for what an endpoint has.",
    ),
    _may(
        "weights_sha256",
        sa.String,
        "SHA-256 over the weight files. NULL: at an endpoint, or trained here.",
    ),
    _may("tokenizer_sha256", sa.String, "SHA-256 over the tokenizer files. NULL: none was read."),
    _must("quantization", sa.String, "'none', 'int8' or 'nf4'; 'unknown' at an endpoint."),
    _must("dtype_name", sa.String, "Precision of the arithmetic; 'unknown' at an endpoint."),
    _must(
        "template_name",
        sa.String,
        "How prompts are framed: 'chat' (the tokenizer's own template), 'plain', or 'none' where "
        "there are none.",
        one_of=("chat", "plain", "none"),
    ),
    _must("template_sha256", sa.String, "SHA-256 of template_text, 64 hexadecimal digits."),
    _must("template_text", sa.String, "The frame, and for a chat the tokenizer's template."),
    _must(
        "backend_name",
        sa.String,
        "What wrote or scored: 'transformers', 'completions_endpoint' or 'trained_here'.",
        one_of=("transformers", "completions_endpoint", "trained_here"),
    ),
    _may("parameter_count", sa.BigInteger, "Parameters. NULL: not known.", minimum=0),
    _may(
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
    _key("decoding_strategy_id", "Hash of name and parameters."),
    _must("decoding_strategy_name", sa.String, "Name in the study."),
    _must(
        "sampling_temperature",
        sa.Double,
        "Sampling temperature, dimensionless; 0 is greedy.",
        minimum=0,
    ),
    _may("top_k", sa.Integer, "Likeliest tokens kept. NULL: all.", minimum=1),
    _may(
        "nucleus_mass",
        sa.Double,
        "Probability that the likeliest tokens kept must reach, in (0, 1). NULL: all are kept.",
        is_finite=True,
    ),
    _may(
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
    _key("ingest_id", "The way the story source is generated, a key of raw.ingests."),
    _key("prompt_id", "Prompt that it was asked."),
    _must("study_name", sa.String, "Study that asked."),
    _must(
        "story_source_name", sa.String, "'<language_model_name>/<decoding_strategy_name>' asked."
    ),
    _must(
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
    _key("story_id", "Generated story, a key of raw.stories; the same request is the same story."),
    _must(
        "token_ids",
        sa.ARRAY(sa.Integer),
        "Tokens as they came, the one that ended the story included, in the language model's own "
        "vocabulary.",
    ),
    _must(
        "confidences",
        sa.ARRAY(sa.REAL),
        "Per token, the probability of the likeliest token under the language model itself "
        "(temperature 1, nothing cut off), in (0, 1].",
    ),
    _must(
        "log_probabilities_nats",
        sa.ARRAY(sa.REAL),
        "Per token, its natural log-probability under the language model itself, at most 0.",
    ),
    _must(
        "sampling_confidences",
        sa.ARRAY(sa.REAL),
        "Per token, the probability of the likeliest token of the distribution drawn from, in "
        "(0, 1].",
    ),
    _must(
        "sampling_log_probabilities_nats",
        sa.ARRAY(sa.REAL),
        "Per token, its natural log-probability under the distribution drawn from, at most 0.",
    ),
    comment="One row per story generated here, with its tokens as arrays of equal length; an "
    "element is NULL where an endpoint does not say it.",
)

story_selections = sa.Table(
    "story_selections",
    metadata,
    _key("selection_id", "Hash of what the selection depends on: study, settings and candidates."),
    _key("story_id", "Human story that was drawn, a key of raw.stories."),
    _must("study_name", sa.String, "Study that the selection belongs to."),
    _must("prompt_id", sa.String, "Prompt that the story answers."),
    _must(
        "prompt_rank",
        sa.Integer,
        "Rank of the prompt by the standard deviation of story length, widest first, from 0.",
        minimum=0,
    ),
    _must("draw_index", sa.Integer, "Place of the story in its prompt's draw, from 0.", minimum=0),
    _must(
        "story_token_count", sa.Integer, "Tokens of the story in the study's tokenizer.", minimum=0
    ),
    _must(
        "prompt_length_sd",
        sa.Double,
        "Standard deviation of story length over the prompt's stories, in tokens, at least 0.",
        minimum=0,
    ),
    comment="One row per human story that a selection drew; studies.selection_id names the "
    "current one.",
)

rejects = sa.Table(
    "rejects",
    metadata,
    _key("reject_id", "Hash of what was rejected, where and why."),
    _must("study_name", sa.String, "Study that it was rejected from."),
    _must(
        "reject_kind",
        sa.String,
        "What was rejected: 'prompt', 'story', 'sample', 'vector', 'token' or 'text'.",
        one_of=("prompt", "story", "sample", "vector", "token", "text"),
    ),
    _must(
        "reason",
        sa.String,
        "Why, as one of a closed list: prompt_too_short, prompt_too_long, too_few_stories, "
        "beyond_prompt_count, no_stories, story_too_short, story_too_long, empty_story, "
        "duplicate_story, prompt_rejected, beyond_stories_per_prompt, unknown_prompt, "
        "duplicate_sample, not_a_probability, impossible_outcome, empty_text, duplicate_text.",
        one_of=(
            "prompt_too_short",
            "prompt_too_long",
            "too_few_stories",
            "beyond_prompt_count",
            "no_stories",
            "story_too_short",
            "story_too_long",
            "empty_story",
            "duplicate_story",
            "prompt_rejected",
            "beyond_stories_per_prompt",
            "unknown_prompt",
            "duplicate_sample",
            "not_a_probability",
            "impossible_outcome",
            "empty_text",
            "duplicate_text",
        ),
    ),
    _must("detail", sa.String, "One sentence with the values that led to it."),
    _may("prompt_id", sa.String, "Prompt concerned. NULL: not known."),
    _may("story_id", sa.String, "Story concerned. NULL: a prompt was rejected, or it has no id."),
    _may("file_name", sa.String, "File it came from. NULL: not known."),
    _may(
        "line_number",
        sa.BigInteger,
        "Line or row in that file, from 1. NULL: not known.",
        minimum=1,
    ),
    _may("ingest_id", sa.String, "Ingest that rejected it. NULL: a selection did."),
    _may("selection_id", sa.String, "Selection that rejected it. NULL: an ingest did."),
    comment="One row per prompt, story, sample, vector, token or text left out, with the reason.",
)

text_embeddings = sa.Table(
    "text_embeddings",
    metadata,
    _key("text_id", "Text that was embedded."),
    _key("word_limit", "Words the text was cut to first. 0: the whole text.", sa.Integer),
    _key("embedding_model_name", "Embedding model, resolved."),
    _key("max_tokens", "Word pieces after which the model cut the text.", sa.Integer),
    _must("embedded_tokens", sa.Integer, "Word pieces that entered the embedding.", minimum=0),
    _must("truncated_tokens", sa.Integer, "Word pieces cut off, 0 where none were.", minimum=0),
    _must("embedding", sa.ARRAY(sa.REAL), "Sentence embedding, dimensionless, float32."),
    comment="One row per text, word limit, embedding model and token limit that was embedded.",
)

text_word_sets = sa.Table(
    "text_word_sets",
    metadata,
    _key("text_id", "Text whose words these are."),
    _key("word_limit", "Words the text was cut to first. 0: the whole text.", sa.Integer),
    _must("words", sa.ARRAY(sa.String), "Distinct lower-cased words, sorted by code point."),
    _must(
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
    _key("text_id", "Text that was tagged."),
    _key("word_limit", "Words the text was cut to first. 0: the whole text.", sa.Integer),
    _key("tagging_model_name", "Tagging model, resolved."),
    _key("max_characters", "Characters after which the text was cut before tagging.", sa.Integer),
    _must(
        "pos_bigrams",
        sa.ARRAY(sa.String),
        "Distinct pairs of neighbouring part-of-speech tags, as 'NOUN VERB', sorted by code point.",
    ),
    _must("tagged_characters", sa.Integer, "Characters that were tagged.", minimum=0),
    _must("truncated_characters", sa.Integer, "Characters cut off, 0 where none were.", minimum=0),
    comment="One row per text, word limit, tagging model and character limit that was tagged.",
)

diversity_vectors = sa.Table(
    "diversity_vectors",
    metadata,
    _key("study_name", "Study that the vector belongs to."),
    _key("prompt_id", "Prompt that the stories answered."),
    _key("story_source_name", "'human', or '<language_model_name>/<decoding_strategy_name>'."),
    _may(
        "semantic_diversity",
        sa.Double,
        "Mean pairwise cosine distance, in [0, 1]. NULL: not given.",
        is_finite=True,
    ),
    _may(
        "lexical_diversity",
        sa.Double,
        "Mean pairwise Jaccard distance of word sets, in [0, 1]. NULL: not given.",
        is_finite=True,
    ),
    _may(
        "syntactic_diversity",
        sa.Double,
        "Mean pairwise Jaccard distance of part-of-speech bigrams, in [0, 1]. NULL: not given.",
        is_finite=True,
    ),
    _must(
        "story_kind",
        sa.String,
        "Who wrote the stories: 'human' or 'generated'.",
        one_of=("human", "generated"),
    ),
    _may("language_model_name", sa.String, "Language model that wrote them. NULL: humans did."),
    _may("decoding_strategy_name", sa.String, "Decoding strategy. NULL: humans wrote them."),
    _may(
        "sampling_temperature",
        sa.Double,
        "Sampling temperature of the decoding, dimensionless. NULL: human or not known.",
        minimum=0,
        is_finite=True,
    ),
    _may("story_count", sa.Integer, "Stories behind the vector. NULL: not given.", minimum=0),
    _must("file_name", sa.String, "File the vector came from."),
    _must("line_number", sa.BigInteger, "Line or row in that file, from 1.", minimum=1),
    _must("ingest_id", sa.String, "Ingest that brought the vector."),
    comment="One row per prompt and story source whose diversity vector was imported ready-made.",
)

test_set_texts = sa.Table(
    "test_set_texts",
    metadata,
    _key("study_name", "Study that the text belongs to."),
    _key("test_set_name", "Test set that the text belongs to."),
    _key("document_id", "Hash of the text and what stands before it."),
    _must("text_id", sa.String, "Text to score, a key of raw.texts."),
    _may(
        "context_text_id",
        sa.String,
        "Text that stands before it and is read, not scored. NULL: none does.",
    ),
    _must("file_name", sa.String, "File the text came from."),
    _must("line_number", sa.BigInteger, "Line or row in that file, from 1.", minimum=1),
    _must("ingest_id", sa.String, "Ingest that brought the text."),
    comment="One row per text of a test set that was ingested for scoring.",
)

scorings = sa.Table(
    "scorings",
    metadata,
    _key("scoring_id", "Hash of what was scored by what: study, test set, language model, input."),
    _must("study_name", sa.String, "Study that the scored tokens belong to."),
    _must("test_set_name", sa.String, "Test set whose tokens were scored."),
    _must("language_model_name", sa.String, "Language model (or classifier) that forecast them."),
    _may("outcome_count", sa.Integer, "Outcomes of a forecast. NULL: not known.", minimum=1),
    _must("ingest_id", sa.String, "Ingest that brought the forecasts, or scoring made here."),
    _must(
        "file_name",
        sa.String,
        "File they came from; of a scoring made here '<test_set_name>/<language_model_name>'.",
    ),
    _may(
        "language_model_id",
        sa.String,
        "The language model as it was loaded, a key of raw.language_models. NULL: imported.",
    ),
    _may(
        "window_tokens",
        sa.Integer,
        "Tokens read at once at most. NULL: imported, or read sentence by sentence.",
    ),
    _may(
        "overlap_tokens",
        sa.Integer,
        "Tokens that a later window repeats. NULL: imported, or read sentence by sentence.",
    ),
    comment="One row per language model and test set whose tokens are scored.",
)

scored_documents = sa.Table(
    "scored_documents",
    metadata,
    _key("scoring_id", "Scoring that the document belongs to, a key of raw.scorings."),
    _key("document_id", "Hash of the text and what stands before it."),
    _may(
        "document_index",
        sa.Integer,
        "Place of the document in its test set, from 0. NULL: it is no longer in it.",
    ),
    _must("text_id", sa.String, "Text that was scored, a key of raw.texts."),
    _must("token_count", sa.Integer, "Tokens that were scored.", minimum=0),
    _must("rejected_count", sa.Integer, "Tokens whose forecast was none.", minimum=0),
    comment="One row per document that a language model scored; written after its tokens.",
)

scored_tokens = sa.Table(
    "scored_tokens",
    metadata,
    _key("scoring_id", "Scoring that the token belongs to, a key of raw.scorings."),
    _key(
        "document_id",
        "Document that the token stands in; of imported forecasts their scoring_id.",
    ),
    _key(
        "token_index",
        "Place of the token in its document, its context included, from 0; of imported forecasts "
        "that in their file.",
        sa.Integer,
    ),
    _may(
        "sentence_index",
        sa.Integer,
        "Sentence of the document, from 0. NULL: imported.",
    ),
    _may("position", sa.Integer, "Place of the token in its sentence, from 0. NULL: imported."),
    _may(
        "context_token_count",
        sa.Integer,
        "Tokens that the forecast was made from, begin-of-text included. NULL: imported.",
    ),
    _may("token_id", sa.Integer, "What came, in the language model's numbers. NULL: imported."),
    _may("top_token_id", sa.Integer, "Likeliest token; the lowest of equals. NULL: imported."),
    _may(
        "outcome_label",
        sa.String,
        "What came, as the file or the vocabulary spells it. NULL: not known.",
    ),
    _may("top_label", sa.String, "Likeliest outcome; the first of equals. NULL: not known."),
    _must("confidence", sa.Double, "Probability of the top label, in [0, 1].", minimum=0),
    _must("is_hit", sa.Boolean, "Whether the top label came."),
    _may(
        "log_probability_nats",
        sa.Double,
        "Log-probability of what came, at most 0. NULL: only the confidence is known.",
        is_finite=True,
    ),
    _may(
        "entropy_nats",
        sa.Double,
        "Entropy of the forecast. NULL: only the confidence is known.",
        is_finite=True,
    ),
    _may(
        "rank",
        sa.Integer,
        "Outcomes ahead of the one that came, 0 for a hit. NULL: only the confidence is known.",
        minimum=0,
    ),
    _may(
        "mass_ahead",
        sa.Double,
        "Probability of the outcomes ahead of the one that came, in [0, 1]. NULL: only the "
        "confidence is known.",
        minimum=0,
    ),
    _may(
        "kept_mass",
        sa.Double,
        "Probability of the 0.9 nucleus, in [0.9, 1]. NULL: imported.",
        is_finite=True,
    ),
    _may("prediction_set_size", sa.Integer, "Tokens of that nucleus, from 1. NULL: imported."),
    _may(
        "byte_count",
        sa.Integer,
        "UTF-8 bytes of the text that the token adds; they sum to the text's. NULL: imported.",
        minimum=0,
    ),
    _may(
        "is_unknown",
        sa.Boolean,
        "Whether it came as the token for words outside the vocabulary. NULL: imported.",
    ),
    _may(
        "is_across_join",
        sa.Boolean,
        "Whether it begins in the context, which is not scored, and ends in the text. NULL: "
        "imported.",
    ),
    # Lists, not arrays: an array takes its 64 bytes even where it is NULL.
    _may(
        "temperature_sketch",
        sa.ARRAY(sa.REAL),
        "16 Chebyshev coefficients of log Z in log2 of the inverse temperature. NULL: only the "
        "confidence is known.",
    ),
    _may(
        "mass_ahead_sketch",
        sa.ARRAY(sa.REAL),
        "The same over the outcomes ahead. NULL: nothing is ahead (rank 0), or it is not known.",
    ),
    comment="One row per scored token of a test set, or imported forecast.",
)

filings = sa.Table(
    "filings",
    metadata,
    _key("study_name", "Study that the filing was read into."),
    _key("test_set_name", "Test set that its Item 7 belongs to."),
    _key("filing_id", "Hash of what the filing says of itself and of its content."),
    _may("accession_number", sa.String, "Accession number of the submission. NULL: not said."),
    _may("cik", sa.String, "Central Index Key of the filer, digits. NULL: not said."),
    _may("form_name", sa.String, "Form in capitals, as '10-K405'. NULL: it cannot be told."),
    _may("period_of_report", sa.String, "End of the period, as YYYYMMDD. NULL: not said."),
    _may(
        "fiscal_year",
        sa.Integer,
        "Year in which the period ends. NULL: no period of report is said.",
    ),
    _must(
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
    _must("reason", sa.String, "Why, with the lines or words found."),
    _must(
        "filing_character_count",
        sa.Integer,
        "Characters of the main document's text, markup left out.",
        minimum=0,
    ),
    _must(
        "item_7_character_count",
        sa.Integer,
        "Characters of Item 7 as kept, 0 unless extracted.",
        minimum=0,
    ),
    _must("has_tables", sa.Boolean, "Whether rows of figures were asked to be kept."),
    _may("document_id", sa.String, "Document of the test set. NULL: not extracted."),
    _must("file_name", sa.String, "File the filing came from."),
    _must("line_number", sa.BigInteger, "Line or row in that file, from 1.", minimum=1),
    _must("ingest_id", sa.String, "Ingest that brought the filing."),
    comment="One row per filing of a test set, whatever became of its Item 7.",
)

trained_language_models = sa.Table(
    "trained_language_models",
    metadata,
    _key("language_model_id", "Language model, a key of raw.language_models."),
    _must(
        "language_model_kind",
        sa.String,
        "'kneser_ney_trigram', 'loglinear_bigram', 'decoder' or 'fact_model'.",
        one_of=("kneser_ney_trigram", "loglinear_bigram", "decoder", "fact_model"),
    ),
    _must("training_sha256", sa.String, "SHA-256 of the training text, 64 hexadecimal digits."),
    _must("training_token_count", sa.Integer, "Outcomes in the training text.", minimum=1),
    _must("outcome_count", sa.Integer, "Outcomes of a forecast.", minimum=1),
    _may("seed", sa.Integer, "Seed of weights and draws. NULL: nothing is drawn."),
    _may(
        "discount_factor",
        sa.Double,
        "What Ney's discounts were multiplied by. NULL: capped throughout, or no trigram.",
        is_finite=True,
    ),
    _may(
        "is_capped",
        sa.Boolean,
        "Whether every discount stands at its cap of 0.99. NULL: no trigram.",
    ),
    _may("trigram_discount", sa.Double, "Discount of trigram counts. NULL: no trigram."),
    _may("bigram_discount", sa.Double, "Discount of bigram counts. NULL: no trigram."),
    _may("unigram_discount", sa.Double, "Discount of unigram counts. NULL: no trigram."),
    _may("penalty", sa.Double, "L2 penalty. NULL: no log-linear bigram.", is_finite=True),
    _may(
        "squared_weight_norm",
        sa.Double,
        "Sum of squared weights. NULL: no log-linear bigram.",
        is_finite=True,
    ),
    _may(
        "gradient_norm",
        sa.Double,
        "Norm of the objective's gradient where training ended. NULL: counted, not optimised.",
        is_finite=True,
    ),
    _may(
        "training_log_loss_nats",
        sa.Double,
        "Mean log loss on the training text. NULL: not computed.",
        is_finite=True,
    ),
    _may(
        "training_derivative_at_1_nats",
        sa.Double,
        "dL/dβ at β = 1 on the training text. NULL: not computed.",
        is_finite=True,
    ),
    _may(
        "training_fitted_temperature",
        sa.Double,
        "Temperature of least log loss on the training text. NULL: not computed, or none.",
        is_finite=True,
    ),
    _may("weights_file_name", sa.String, "File under the home's weights. NULL: none is kept."),
    comment="One row per language model that was trained here, on a text made from a seed.",
)

exact_fits = sa.Table(
    "exact_fits",
    metadata,
    _key("scoring_id", "Scoring, a key of raw.scorings."),
    _key("token_group", "'all', 'known_words', or a regime of facts."),
    _must("token_count", sa.BigInteger, "Tokens of the group.", minimum=1),
    _must(
        "fit_status",
        sa.String,
        "'converged', 'no_finite_optimum' or 'flat'.",
        one_of=("converged", "no_finite_optimum", "flat"),
    ),
    _may(
        "fitted_temperature",
        sa.Double,
        "Temperature of least log loss over exact rows. NULL: there is none.",
        is_finite=True,
    ),
    _may("log_loss_nats", sa.Double, "Mean log loss there. NULL: there is none.", is_finite=True),
    _must("log_loss_at_1_nats", sa.Double, "Mean log loss at temperature 1."),
    _may(
        "log_loss_at_pooled_nats",
        sa.Double,
        "Mean log loss at the temperature fitted to all tokens. NULL: there is none.",
        is_finite=True,
    ),
    _must("derivative_at_1_nats", sa.Double, "dL/dβ at β = 1."),
    _must("mean_confidence", sa.Double, "Mean probability of the top label."),
    _must("accuracy", sa.Double, "Share of tokens whose top label came."),
    _may(
        "temperature_gain_nats",
        sa.Double,
        "Cross-fitted gain of a temperature. NULL: a half has no optimum, or a group of facts.",
        is_finite=True,
    ),
    _may(
        "unknown_map_gain_nats",
        sa.Double,
        "Cross-fitted gain of mapping the share of unknown words onto <unk>. NULL: a half has "
        "none, or not all tokens.",
        is_finite=True,
    ),
    _may(
        "is_unknown_last",
        sa.Boolean,
        "Whether <unk> is last in every row used. NULL: not all tokens.",
    ),
    _may(
        "row_rank_correlation",
        sa.Double,
        "Kendall's tau-b over distinct rows of the confidences at temperatures 1 and 2. NULL: "
        "not all tokens, or undefined.",
        is_finite=True,
    ),
    comment="One row per scoring by a language model trained here and group of tokens: the "
    "temperature fitted to its exact rows.",
)

fact_probes = sa.Table(
    "fact_probes",
    metadata,
    _key("scoring_id", "Scoring, a key of raw.scorings."),
    _key("token_index", "Place of the probe among the scored tokens, from 0.", sa.Integer),
    _must("mention_count", sa.Integer, "Times the training text states the fact.", minimum=0),
    comment="One row per fact that the fact model was asked.",
)

runs = sa.Table(
    "runs",
    metadata,
    _key("run_id", "Id of the run, drawn at random."),
    _must(
        "command",
        sa.String,
        "Stage that ran: 'ingest', 'generate', 'measure', 'score', 'fit' or 'build'.",
    ),
    _may("study_name", sa.String, "Study it worked on. NULL: several or none."),
    _must("started_at", sa.DateTime, "When it started, UTC."),
    _may("finished_at", sa.DateTime, "When it ended, UTC. NULL: running, or killed."),
    _must(
        "status",
        sa.String,
        "'running', 'done', 'failed', or 'interrupted' (stopped, or killed and found later).",
        one_of=("running", "done", "failed", "interrupted"),
    ),
    _may(
        "detail", sa.String, "What was done, or the sentence it failed with. NULL: still running."
    ),
    _may("code_commit", sa.String, "Commit of the code. NULL: not run from a checkout."),
    _must(
        "package_versions_json", sa.String, "Versions of the packages that make numbers, as JSON."
    ),
    comment="One row per run that changed anything.",
)

publications = sa.Table(
    "publications",
    metadata,
    _key("publication_id", "Id of the publication, drawn at random."),
    _must("published_at", sa.DateTime, "When the build of the snapshot started, UTC."),
    _must("raw_state_id", sa.String, "Fingerprint of the raw rows that it was built from."),
    _may("code_commit", sa.String, "Commit of the code. NULL: not run from a checkout."),
    _must(
        "package_versions_json", sa.String, "Versions of the packages that make numbers, as JSON."
    ),
    _must("build_code_id", sa.String, "SHA-256 of the SQL, UDFs and package versions used."),
    _must(
        "status",
        sa.String,
        "'building' until its snapshot is in place, then 'published'. A row found 'building' whose "
        "snapshot never appeared is taken back by the next build.",
        one_of=("building", "published"),
    ),
    comment="One row per snapshot published from this file.",
)

_ARROW_TYPES: dict[type[sa.types.TypeEngine[Any]], pa.DataType] = {
    sa.String: pa.string(),
    sa.Integer: pa.int32(),
    sa.BigInteger: pa.int64(),
    sa.Double: pa.float64(),
    sa.REAL: pa.float32(),
    sa.Boolean: pa.bool_(),
    sa.DateTime: pa.timestamp("us"),
}


def arrow_schema(table: sa.Table) -> pa.Schema:
    """Return the Arrow schema of *table*: what `warehouse.writers` wants and the readers return."""
    return pa.schema(
        [
            pa.field(column.name, _arrow_type(column.type), nullable=bool(column.nullable))
            for column in table.columns
        ]
    )


def _arrow_type(kind: sa.types.TypeEngine[Any]) -> pa.DataType:
    if isinstance(kind, sa.ARRAY):
        return pa.list_(_arrow_type(kind.item_type))
    return _ARROW_TYPES[type(kind)]
