"""Studies, what was read into them, what was left out, and what ran."""

from __future__ import annotations

import sqlalchemy as sa

from warehouse.tables.columns import key, may, metadata, must

schema_versions = sa.Table(
    "schema_versions",
    metadata,
    key(
        "version", "Version of the raw tables this file was brought to, counted from 1.", sa.Integer
    ),
    must("applied_at", sa.DateTime, "When the tables were brought to this version, UTC."),
    must("package_version", sa.String, "Version of the calibrary package that did it."),
    comment="One row per version of the raw tables that this file has had; the largest is current.",
)

studies = sa.Table(
    "studies",
    metadata,
    key("study_name", "Name of the study, or of data ingested on their own (--name)."),
    may("study_file_name", sa.String, "Base name of the study file. NULL: made by options alone."),
    must("settings_json", sa.String, "All resolved settings of the study as canonical JSON."),
    must(
        "stories_per_prompt",
        sa.Integer,
        "Human stories drawn per prompt; prompts with fewer are rejected. At least 2.",
        minimum=2,
    ),
    may(
        "samples_per_prompt",
        sa.Integer,
        "Samples expected of every story source per prompt. NULL: as many as the story "
        "source's own sample indexes say.",
        minimum=1,
    ),
    may(
        "prompt_count",
        sa.Integer,
        "Largest number of prompts selected, by rank. NULL: all that qualify.",
        minimum=1,
    ),
    must(
        "minimum_prompt_characters",
        sa.Integer,
        "Shortest prompt selected, in characters, inclusive.",
        minimum=0,
    ),
    must(
        "maximum_prompt_characters",
        sa.Integer,
        "Longest prompt selected, in characters, inclusive.",
        minimum=0,
    ),
    must(
        "minimum_story_tokens",
        sa.Integer,
        "Shortest human story selected, in tokens of tokenizer_name, inclusive.",
        minimum=0,
    ),
    must(
        "maximum_story_tokens",
        sa.Integer,
        "Longest human story selected, in tokens of tokenizer_name, inclusive.",
        minimum=0,
    ),
    must("tokenizer_name", sa.String, "Tokenizer that measures story length for the selection."),
    must("selection_seed", sa.BigInteger, "Seed of the draw of stories within a prompt."),
    may(
        "selection_id",
        sa.String,
        "The current selection, a key of raw.story_selections. NULL: none has been made.",
    ),
    must("embedding_model_name", sa.String, "Sentence embedding model, resolved."),
    must(
        "embedding_max_tokens",
        sa.Integer,
        "Word pieces after which the embedding model cuts a text, special pieces included.",
        minimum=1,
    ),
    must("tagging_model_name", sa.String, "Part-of-speech tagging model, resolved."),
    must(
        "tagging_max_characters",
        sa.Integer,
        "Characters after which a text is cut before tagging.",
        minimum=1,
    ),
    must(
        "minimum_common_words",
        sa.Integer,
        "Smallest common word count: the length-controlled twin of a prompt never cuts below it, "
        "and leaves shorter stories out.",
        minimum=1,
    ),
    must("definition_version", sa.String, "Version of the definitions the study is computed by."),
    comment="One row per study: its settings, resolved.",
)

ingests = sa.Table(
    "ingests",
    metadata,
    key(
        "ingest_id",
        "Hash of study, kind, options and content: the same file again is the same row.",
    ),
    must("study_name", sa.String, "Study that the rows belong to."),
    must(
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
    must(
        "file_name",
        sa.String,
        "Base names of the files read, joined by ' + ', or a data set id; of stories generated "
        "here their story source, of tokens scored here '<test_set_name>/<language_model_name>'.",
    ),
    must(
        "content_sha256",
        sa.String,
        "SHA-256 of the bytes read, 64 hexadecimal digits; of stories generated and tokens scored "
        "here that of options_json.",
    ),
    must(
        "options_json",
        sa.String,
        "Options that say how the file is read, or all that generated stories depend on beside "
        "prompt and sample index, or scored tokens beside their text, as canonical JSON.",
    ),
    must(
        "status",
        sa.String,
        "'running' until every row is written, then 'done'. Rows of an ingest that is not done are "
        "invisible to the marts, and are taken over by the next ingest that brings them. Generated "
        "stories count as they come ('done' from the start), scored tokens when the whole test set "
        "is scored; both until the study asks for the same in another way: 'superseded'.",
        one_of=("running", "done", "superseded"),
    ),
    may("row_count", sa.BigInteger, "Records read. NULL: not done yet, or generated.", minimum=0),
    must("started_at", sa.DateTime, "When this ingest first started, UTC."),
    may("finished_at", sa.DateTime, "When it was done, UTC. NULL: not done yet, or generated."),
    comment="One row per file (or files joined) read into a study with one set of options, or per "
    "story source generated in one way.",
)

rejects = sa.Table(
    "rejects",
    metadata,
    key("reject_id", "Hash of what was rejected, where and why."),
    must("study_name", sa.String, "Study that it was rejected from."),
    must(
        "reject_kind",
        sa.String,
        "What was rejected: 'prompt', 'story', 'sample', 'vector', 'token' or 'text'.",
        one_of=("prompt", "story", "sample", "vector", "token", "text"),
    ),
    must(
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
    must("detail", sa.String, "One sentence with the values that led to it."),
    may("prompt_id", sa.String, "Prompt concerned. NULL: not known."),
    may("story_id", sa.String, "Story concerned. NULL: a prompt was rejected, or it has no id."),
    may("file_name", sa.String, "File it came from. NULL: not known."),
    may(
        "line_number",
        sa.BigInteger,
        "Line or row in that file, from 1. NULL: not known.",
        minimum=1,
    ),
    may("ingest_id", sa.String, "Ingest that rejected it. NULL: a selection did."),
    may("selection_id", sa.String, "Selection that rejected it. NULL: an ingest did."),
    comment="One row per prompt, story, sample, vector, token or text left out, with the reason.",
)

runs = sa.Table(
    "runs",
    metadata,
    key("run_id", "Id of the run, drawn at random."),
    must(
        "command",
        sa.String,
        "Stage that ran: 'ingest', 'generate', 'measure', 'score', 'fit' or 'build'.",
    ),
    may("study_name", sa.String, "Study it worked on. NULL: several or none."),
    must("started_at", sa.DateTime, "When it started, UTC."),
    may("finished_at", sa.DateTime, "When it ended, UTC. NULL: running, or killed."),
    must(
        "status",
        sa.String,
        "'running', 'done', 'failed', or 'interrupted' (stopped, or killed and found later).",
        one_of=("running", "done", "failed", "interrupted"),
    ),
    may("detail", sa.String, "What was done, or the sentence it failed with. NULL: still running."),
    may("code_commit", sa.String, "Commit of the code. NULL: not run from a checkout."),
    must(
        "package_versions_json", sa.String, "Versions of the packages that make numbers, as JSON."
    ),
    comment="One row per run that changed anything.",
)

publications = sa.Table(
    "publications",
    metadata,
    key("publication_id", "Id of the publication, drawn at random."),
    must("published_at", sa.DateTime, "When the build of the snapshot started, UTC."),
    must("raw_state_id", sa.String, "Fingerprint of the raw rows that it was built from."),
    may("code_commit", sa.String, "Commit of the code. NULL: not run from a checkout."),
    must(
        "package_versions_json", sa.String, "Versions of the packages that make numbers, as JSON."
    ),
    must("build_code_id", sa.String, "SHA-256 of the SQL, UDFs and package versions used."),
    must(
        "status",
        sa.String,
        "'building' until its snapshot is in place, then 'published'. A row found 'building' whose "
        "snapshot never appeared is taken back by the next build.",
        one_of=("building", "published"),
    ),
    comment="One row per snapshot published from this file.",
)
