"""Prompts, texts and the ledger of stories, with the selection of human ones."""

from __future__ import annotations

import sqlalchemy as sa

from warehouse.tables.columns import key, may, metadata, must

prompts = sa.Table(
    "prompts",
    metadata,
    key("study_name", "Study that the prompt belongs to."),
    key("prompt_id", "Hash of the prompt's text, or its id in the file where no text is known."),
    must(
        "source_prompt_id",
        sa.String,
        "The prompt's id in the file it came from; the smallest where one text has several.",
    ),
    may("prompt_text", sa.String, "The prompt. NULL: the file has ids only."),
    may(
        "character_count",
        sa.Integer,
        "Characters of the prompt's text. NULL: no text is known.",
        minimum=0,
    ),
    must("ingest_id", sa.String, "Ingest that brought the prompt."),
    comment="One row per prompt of a study, rejected ones included.",
)

other_prompt_ids = sa.Table(
    "other_prompt_ids",
    metadata,
    key("study_name", "Study that the prompt belongs to."),
    key("source_prompt_id", "A further id of the prompt, in some file."),
    key("prompt_id", "The prompt."),
    must("ingest_id", sa.String, "Ingest that brought the id."),
    comment="One row per id of a prompt beside the one it goes by: one text under several ids.",
)

texts = sa.Table(
    "texts",
    metadata,
    key("text_id", "Hash of the text, so that equal texts are stored and measured once."),
    must("text", sa.String, "The text as read, after the file layout's own marks are undone."),
    must("character_count", sa.Integer, "Characters (code points) of the text.", minimum=0),
    must("byte_count", sa.Integer, "Bytes of the text in UTF-8.", minimum=0),
    must("word_count", sa.Integer, "Words of the text, repeated ones counted again.", minimum=0),
    must(
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
    key("text_id", "Text that was counted."),
    key("tokenizer_name", "Tokenizer that counted it, resolved."),
    must("token_count", sa.Integer, "Tokens of the text, special tokens not counted.", minimum=0),
    comment="One row per text and tokenizer that has counted its tokens.",
)

stories = sa.Table(
    "stories",
    metadata,
    key("study_name", "Study that the story belongs to."),
    key(
        "story_id",
        "Human: hash of prompt and text. Generated: hash of the request (prompt, language model, "
        "revision, quantization, strategy, template, sample index, seed).",
    ),
    must("prompt_id", sa.String, "Prompt that the story answers."),
    may("text_id", sa.String, "The story's text. NULL: the sample failed and has none."),
    must(
        "story_kind",
        sa.String,
        "Who wrote it: 'human' or 'generated'.",
        one_of=("human", "generated"),
    ),
    must(
        "story_source_name",
        sa.String,
        "'human', or '<language_model_name>/<decoding_strategy_name>'.",
    ),
    may("language_model_name", sa.String, "Language model that wrote it. NULL: a human did."),
    may("language_model_revision", sa.String, "Revision of its weights. NULL: human or not known."),
    may("quantization", sa.String, "Quantization of its weights. NULL: human, none or not known."),
    may("decoding_strategy_name", sa.String, "Decoding strategy. NULL: a human wrote it."),
    may(
        "sampling_temperature",
        sa.Double,
        "Sampling temperature of the decoding, dimensionless, 0 for greedy. NULL: human or not "
        "known.",
        minimum=0,
        is_finite=True,
    ),
    may("template_name", sa.String, "Template that framed the prompt. NULL: human or not known."),
    may(
        "sample_index",
        sa.Integer,
        "Which sample of its prompt and source this is, counted from 0. NULL: human.",
        minimum=0,
    ),
    may("seed", sa.BigInteger, "Seed of the sample. NULL: human or not known."),
    must(
        "status",
        sa.String,
        "'ok'; 'empty' (no word in it); 'too_short' (generated, fewer than 2 words); 'truncated' "
        "(stopped by a length limit); 'failed' (no text came).",
        one_of=("ok", "empty", "too_short", "truncated", "failed"),
    ),
    may(
        "stop_reason",
        sa.String,
        "What ended the sample: 'eos', 'length' or 'stop_string'. NULL: human or not known.",
        one_of=("eos", "length", "stop_string"),
    ),
    may(
        "prompt_token_count", sa.Integer, "Tokens of the framed prompt. NULL: not known.", minimum=0
    ),
    may(
        "story_token_count",
        sa.Integer,
        "Tokens of the story in the language model's own tokenizer. NULL: human or not known.",
        minimum=0,
    ),
    may(
        "wall_seconds",
        sa.Double,
        "Time the sample took, in seconds; of a batch generated here, its time divided by its "
        "rows. NULL: human or not known.",
        minimum=0,
        is_finite=True,
    ),
    may("file_name", sa.String, "File the story came from. NULL: generated here."),
    may(
        "line_number", sa.BigInteger, "Line or row in that file, from 1. NULL: no file.", minimum=1
    ),
    must("ingest_id", sa.String, "Ingest that brought the story."),
    may(
        "language_model_id",
        sa.String,
        "The language model as it was loaded, a key of raw.language_models. NULL: not generated "
        "here.",
    ),
    may(
        "decoding_strategy_id",
        sa.String,
        "The decoding strategy, a key of raw.decoding_strategies. NULL: not generated here.",
    ),
    may(
        "maximum_story_tokens",
        sa.Integer,
        "Length limit of the request, in tokens. NULL: not generated here.",
    ),
    may(
        "batch_row_count",
        sa.Integer,
        "Rows of the batch that the sample was written in. NULL: not generated here.",
    ),
    may(
        "padded_token_count",
        sa.Integer,
        "Tokens that the prompts of that batch were padded to. NULL: failed, or not generated "
        "here by a model that was loaded.",
    ),
    may("failure", sa.String, "Why the sample failed, one sentence. NULL: it did not."),
    comment="The ledger: one row per human story read and per sample requested of a story source. "
    "A sample that is missing has no row; nothing is filled in.",
)

story_selections = sa.Table(
    "story_selections",
    metadata,
    key("selection_id", "Hash of what the selection depends on: study, settings and candidates."),
    key("story_id", "Human story that was drawn, a key of raw.stories."),
    must("study_name", sa.String, "Study that the selection belongs to."),
    must("prompt_id", sa.String, "Prompt that the story answers."),
    must(
        "prompt_rank",
        sa.Integer,
        "Rank of the prompt by the standard deviation of story length, widest first, from 0.",
        minimum=0,
    ),
    must("draw_index", sa.Integer, "Place of the story in its prompt's draw, from 0.", minimum=0),
    must(
        "story_token_count", sa.Integer, "Tokens of the story in the study's tokenizer.", minimum=0
    ),
    must(
        "prompt_length_sd",
        sa.Double,
        "Standard deviation of story length over the prompt's stories, in tokens, at least 0.",
        minimum=0,
    ),
    comment="One row per human story that a selection drew; studies.selection_id names the "
    "current one.",
)
