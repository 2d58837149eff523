"""Tables of schema ``raw``: what flows write and dbt reads.

Every identity is 32 lower-case hex digits (`udfs.identity`); every time is UTC; NULL always means
*not known or not applicable*, never zero. Only primary keys, no secondary indexes: DuckDB's
``on conflict do update`` can fail for ever on a table that has one.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import (
    ARRAY,
    TIMESTAMP,
    BigInteger,
    Column,
    Double,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
)

SCHEMA_VERSION = 1
"""Version of these tables; the warehouse migrates an older file forward and refuses a newer one."""

RAW = "raw"

metadata = MetaData(schema=RAW)


def _column(
    name: str, kind: Any, comment: str, *, key: bool = False, null: bool = False
) -> Column[Any]:
    return Column(
        name, kind, primary_key=key, nullable=null and not key, autoincrement=False, comment=comment
    )


def _study_name(*, key: bool = True) -> Column[Any]:
    return _column(
        "study_name", String, "Study, or data set ingested on its own (--name).", key=key
    )


def _ingest_id() -> Column[Any]:
    return _column(
        "ingest_id", String, "Ingest that brought the row; it counts once that ingest is done."
    )


def _place() -> tuple[Column[Any], Column[Any]]:
    return (
        _column("file_name", String, "File the row came from, without its folder.", null=True),
        _column("line_number", BigInteger, "1-based line (Parquet: row) in that file.", null=True),
    )


schema_versions = Table(
    "schema_versions",
    metadata,
    _column("version", Integer, "Version of the raw tables, from 1.", key=True),
    _column("applied_at", TIMESTAMP, "When this version was applied, UTC."),
    _column("package_version", String, "Version of calibrary that applied it."),
    comment="One row per version of the raw tables that was applied to this file.",
)

studies = Table(
    "studies",
    metadata,
    _study_name(),
    _column("study_file_name", String, "Study file; NULL for data ingested on its own.", null=True),
    _column("stories_per_prompt", Integer, "Human stories drawn per prompt."),
    _column(
        "samples_per_prompt", Integer, "Samples expected per prompt and story source.", null=True
    ),
    _column("prompt_count", Integer, "Prompts kept at most; NULL keeps all.", null=True),
    _column("minimum_prompt_characters", Integer, "Shortest prompt kept, characters."),
    _column("maximum_prompt_characters", Integer, "Longest prompt kept, characters."),
    _column("minimum_story_tokens", Integer, "Shortest human story kept, tokens."),
    _column("maximum_story_tokens", Integer, "Longest human story kept, tokens."),
    _column("tokenizer_name", String, "Tokenizer that counts story tokens."),
    _column("selection_seed", BigInteger, "Seed of the draw of stories."),
    _column("selection_id", String, "Current selection of human stories.", null=True),
    _column("embedding_model_name", String, "Sentence embedding model."),
    _column("embedding_max_tokens", Integer, "Word pieces the embedding model reads at most."),
    _column("tagging_model_name", String, "Part-of-speech tagging model."),
    _column("tagging_max_characters", Integer, "Characters the tagger reads at most."),
    _column("minimum_common_words", Integer, "Floor of a prompt's common word count."),
    _column("definition_version", String, "Version of the definitions in use."),
    comment="One row per study: every choice that can change a number.",
)

ingests = Table(
    "ingests",
    metadata,
    _column("ingest_id", String, "Identity of study, kind, options and file contents.", key=True),
    _study_name(key=False),
    _column("ingest_kind", String, "stories, generations or diversity_vectors."),
    _column("file_name", String, "File or files read, without their folders."),
    _column("content_sha256", String, "SHA-256 of the bytes read, or of the data set's identity."),
    _column("options_json", String, "Column options, canonical JSON."),
    _column("status", String, "running or done; rows of an ingest count once it is done."),
    _column("row_count", BigInteger, "Records read; NULL until done.", null=True),
    _column("started_at", TIMESTAMP, "First start, UTC."),
    _column("finished_at", TIMESTAMP, "When it was done, UTC.", null=True),
    comment="One row per ingested input.",
)

prompts = Table(
    "prompts",
    metadata,
    _study_name(),
    _column(
        "prompt_id", String, "Identity of the prompt text; the given id without a text.", key=True
    ),
    _column("source_prompt_id", String, "Id the prompt has in its file."),
    _column("prompt_text", Text, "Text of the prompt.", null=True),
    _column("character_count", Integer, "Characters of the prompt text.", null=True),
    _ingest_id(),
    comment="One row per study and prompt.",
)

texts = Table(
    "texts",
    metadata,
    _column("text_id", String, "Identity of the text's bytes.", key=True),
    _column("story_text", Text, "The text, exactly as read."),
    _column("character_count", Integer, "Unicode code points."),
    _column("byte_count", Integer, "UTF-8 bytes."),
    _column("word_count", Integer, "Words, repetitions counted."),
    _column("normalised_md5", String, "MD5 of the normalised text, for finding duplicates."),
    comment="One row per distinct text.",
)

text_token_counts = Table(
    "text_token_counts",
    metadata,
    _column("text_id", String, "Text.", key=True),
    _column("tokenizer_name", String, "Tokenizer.", key=True),
    _column("token_count", Integer, "Tokens without special ones."),
    comment="One row per text and tokenizer that counted it.",
)

stories = Table(
    "stories",
    metadata,
    _study_name(),
    _column("story_id", String, "Identity of the story or of the generation request.", key=True),
    _column("prompt_id", String, "Prompt it answers."),
    _column("text_id", String, "Its text; NULL where generation failed.", null=True),
    _column("story_kind", String, "human or generated."),
    _column("story_source_name", String, "human, or language model/decoding strategy."),
    _column("language_model_name", String, "Language model that wrote it.", null=True),
    _column("language_model_revision", String, "Revision of its weights.", null=True),
    _column("quantization", String, "Quantization of its weights.", null=True),
    _column("decoding_strategy_name", String, "Decoding strategy.", null=True),
    _column("sampling_temperature", Double, "Decoding temperature, above 0.", null=True),
    _column("template_name", String, "Prompt template.", null=True),
    _column("sample_index", Integer, "0-based sample of its prompt and story source.", null=True),
    _column("seed", BigInteger, "Random seed of the sample.", null=True),
    _column("status", String, "ok, empty, too_short, truncated or failed."),
    _column("stop_reason", String, "eos, length or stop_string.", null=True),
    _column(
        "prompt_token_count", Integer, "Tokens of the prompt as given to the model.", null=True
    ),
    _column("story_token_count", Integer, "Tokens the model wrote.", null=True),
    _column("wall_seconds", Double, "Seconds the sample took.", null=True),
    *_place(),
    _ingest_id(),
    comment="The ledger: one row per human story and per requested sample.",
)

story_selections = Table(
    "story_selections",
    metadata,
    _column("selection_id", String, "Identity of settings and candidates.", key=True),
    _column("story_id", String, "Human story that was drawn.", key=True),
    _study_name(key=False),
    _column("prompt_id", String, "Its prompt."),
    _column("prompt_rank", Integer, "0-based rank of the prompt, most varied lengths first."),
    _column("draw_index", Integer, "0-based place of the story in the draw."),
    _column("story_token_count", Integer, "Tokens of the story."),
    _column("prompt_length_sd", Double, "Population sd of token counts over the prompt's stories."),
    comment="One row per human story drawn by a selection.",
)

rejects = Table(
    "rejects",
    metadata,
    _column("reject_id", String, "Identity of the reject.", key=True),
    _study_name(key=False),
    _column("reject_kind", String, "prompt, story, sample or vector."),
    _column("reason", String, "Short name of the rule that was not met."),
    _column("detail", String, "One sentence with the values."),
    _column("prompt_id", String, "Prompt concerned.", null=True),
    _column("story_id", String, "Story concerned.", null=True),
    *_place(),
    _column("ingest_id", String, "Ingest that rejected it; NULL for a selection.", null=True),
    _column("selection_id", String, "Selection that rejected it; NULL for an ingest.", null=True),
    comment="One row per rejected prompt, story or sample, with the reason.",
)

text_embeddings = Table(
    "text_embeddings",
    metadata,
    _column("text_id", String, "Text.", key=True),
    _column("word_limit", Integer, "Words the text was cut to; 0 for the whole text.", key=True),
    _column("embedding_model_name", String, "Sentence embedding model.", key=True),
    _column("max_tokens", Integer, "Word pieces read at most.", key=True),
    _column("embedded_tokens", Integer, "Word pieces read, special ones included."),
    _column("truncated_tokens", Integer, "Word pieces beyond the limit, not read."),
    _column("embedding", ARRAY(Float), "Embedding as the model gives it, single precision."),
    comment="One row per text, cut, embedding model and limit.",
)

text_word_sets = Table(
    "text_word_sets",
    metadata,
    _column("text_id", String, "Text.", key=True),
    _column("word_limit", Integer, "Words the text was cut to; 0 for the whole text.", key=True),
    _column("words", ARRAY(String), "Distinct words, case folded and sorted."),
    comment="One row per text and cut.",
)

text_pos_bigrams = Table(
    "text_pos_bigrams",
    metadata,
    _column("text_id", String, "Text.", key=True),
    _column("word_limit", Integer, "Words the text was cut to; 0 for the whole text.", key=True),
    _column("tagging_model_name", String, "Part-of-speech tagging model.", key=True),
    _column("max_characters", Integer, "Characters read at most.", key=True),
    _column("pos_bigrams", ARRAY(String), "Distinct pairs of neighbouring tags, sorted."),
    _column("tagged_characters", Integer, "Characters read."),
    _column("truncated_characters", Integer, "Characters beyond the limit, not read."),
    comment="One row per text, cut, tagging model and limit.",
)

diversity_vectors = Table(
    "diversity_vectors",
    metadata,
    _study_name(),
    _column("prompt_id", String, "Prompt.", key=True),
    _column("story_source_name", String, "human, or language model/decoding strategy.", key=True),
    _column("story_kind", String, "human or generated."),
    _column("language_model_name", String, "Language model.", null=True),
    _column("decoding_strategy_name", String, "Decoding strategy.", null=True),
    _column("semantic_diversity", Double, "As given, in [0, 1]."),
    _column("lexical_diversity", Double, "As given, in [0, 1]."),
    _column("syntactic_diversity", Double, "As given, in [0, 1]."),
    *_place(),
    _ingest_id(),
    comment="One row per study, prompt and story source of imported diversity vectors.",
)

runs = Table(
    "runs",
    metadata,
    _column("run_id", String, "Identity of the run.", key=True),
    _column("command", String, "Stage that ran: ingest, select, measure or build."),
    _column("study_name", String, "Study; NULL where the whole home was meant.", null=True),
    _column("started_at", TIMESTAMP, "When it first changed something, UTC."),
    _column("finished_at", TIMESTAMP, "When it ended; NULL if it was killed.", null=True),
    _column("status", String, "running, done, failed or interrupted."),
    _column("detail", String, "What was done, or the error's sentence.", null=True),
    _column("code_commit", String, "Commit of the code; NULL outside a checkout.", null=True),
    _column("package_versions_json", String, "Versions of the packages that make numbers."),
    comment="One row per stage that changed something; a stage with nothing to do leaves none.",
)

publications = Table(
    "publications",
    metadata,
    _column("publication_id", String, "Identity of the publication.", key=True),
    _column("published_at", TIMESTAMP, "When its build started, UTC."),
    _column("raw_state_id", String, "Fingerprint of the raw rows it was built from."),
    _column("build_code_id", String, "SHA-256 of the SQL, UDFs and package versions."),
    _column("code_commit", String, "Commit of the code; NULL outside a checkout.", null=True),
    _column("package_versions_json", String, "Versions of the packages that make numbers."),
    comment="One row per published snapshot.",
)
