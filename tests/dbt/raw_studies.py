"""Hand-made raw rows of four tiny studies: compared, generated only, generated here, imported."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from typing import Any

import duckdb
import numpy as np

from flows.study import DEFINITION_VERSION
from udfs.identity import content_id, normalised_md5, text_id
from udfs.word_sets import count_words, cut_words, word_set
from warehouse import schema
from warehouse.writers import upsert

Row = dict[str, Any]

NOW = dt.datetime(2026, 1, 2, 3, 4, 5)  # noqa: DTZ001 - the raw tables hold UTC without a zone
EMBEDDER, TAGGER = "embedder", "tagger"
PROMPTS = 5
STORIES = 3
VOCABULARY = [f"word{number}" for number in range(40)]
BIGRAMS = [f"{first} {second}" for first in "ABCD" for second in "ABCD"]


def study_row(study_name: str, **changes: Any) -> Row:
    row: Row = {
        "study_name": study_name,
        "settings_json": "{}",
        "stories_per_prompt": STORIES,
        "minimum_prompt_characters": 1,
        "maximum_prompt_characters": 500,
        "minimum_story_tokens": 1,
        "maximum_story_tokens": 900,
        "tokenizer_name": "tokenizer",
        "selection_seed": 1,
        "embedding_model_name": EMBEDDER,
        "embedding_max_tokens": 256,
        "tagging_model_name": TAGGER,
        "tagging_max_characters": 5000,
        "minimum_common_words": 20,
        "definition_version": DEFINITION_VERSION,
    }
    return row | changes


def ingest_row(ingest_id: str, study_name: str, kind: str, status: str = "done") -> Row:
    return {
        "ingest_id": ingest_id,
        "study_name": study_name,
        "ingest_kind": kind,
        "file_name": "stories.jsonl",
        "content_sha256": "0" * 64,
        "options_json": "{}",
        "status": status,
        "started_at": NOW,
    }


def prompt_row(study_name: str, number: int, ingest_id: str) -> Row:
    text = f"Prompt {number} of {study_name}"
    return {
        "study_name": study_name,
        "prompt_id": content_id("prompt", text),
        "source_prompt_id": str(number),
        "prompt_text": text,
        "character_count": len(text),
        "ingest_id": ingest_id,
    }


def story_row(
    study_name: str, prompt_id: str, text: str | None, ingest_id: str, **more: Any
) -> Row:
    source = more.get("story_source_name", "human")
    row: Row = {
        "study_name": study_name,
        "story_id": content_id(prompt_id, text, source, more.get("sample_index")),
        "prompt_id": prompt_id,
        "text_id": None if text is None else text_id(text),
        "story_kind": "human" if source == "human" else "generated",
        "story_source_name": source,
        "status": "ok",
        "file_name": "stories.jsonl",
        "line_number": 1,
        "ingest_id": ingest_id,
    }
    if source != "human":
        row["language_model_name"], row["decoding_strategy_name"] = source.split("/")
    return row | more


def text_row(text: str) -> Row:
    return {
        "text_id": text_id(text),
        "text": text,
        "character_count": len(text),
        "byte_count": len(text.encode()),
        "word_count": count_words(text),
        "normalised_md5": normalised_md5(text),
    }


def feature_rows(text: str, word_limit: int) -> dict[str, Row]:
    """Made-up features that depend on the text and its cut only."""
    cut = cut_words(text, word_limit) if word_limit else text
    rng = np.random.default_rng(int(text_id(cut)[:8], 16))
    key = {"text_id": text_id(text), "word_limit": word_limit}
    bigrams = sorted(rng.choice(BIGRAMS, size=9, replace=False).tolist())
    return {
        "text_embeddings": key
        | {
            "embedding_model_name": EMBEDDER,
            "max_tokens": 256,
            "embedded_tokens": 7,
            "truncated_tokens": 1,
            "embedding": rng.normal(1.0, 1.0, size=8).astype(np.float32).tolist(),
        },
        "text_word_sets": key | {"words": word_set(cut), "word_count": count_words(cut)},
        "text_pos_bigrams": key
        | {
            "tagging_model_name": TAGGER,
            "max_characters": 5000,
            "pos_bigrams": bigrams,
            "tagged_characters": len(cut),
            "truncated_characters": 0,
        },
    }


def made_up_text(rng: np.random.Generator, words: int) -> str:
    return " ".join(rng.choice(VOCABULARY, size=words).tolist())


class RawRows:
    """Rows by table name, gathered before they are written."""

    def __init__(self) -> None:
        self.tables: dict[str, list[Row]] = {}

    def add(self, table_name: str, *rows: Row) -> None:
        self.tables.setdefault(table_name, []).extend(rows)

    def write(self, connection: duckdb.DuckDBPyConnection, *, is_reversed: bool = False) -> None:
        """Write all rows; the order in which they were gathered must not matter."""
        for name, rows in self.tables.items():
            upsert(connection, getattr(schema, name), rows[::-1] if is_reversed else rows)


def compared_study(rng: np.random.Generator) -> RawRows:
    """People and two language models, with every way a story can be missing."""
    rows, name = RawRows(), "compared"
    rows.add("studies", study_row(name, selection_id="now", samples_per_prompt=STORIES))
    rows.add("ingests", ingest_row("people", name, "stories"))
    rows.add("ingests", ingest_row("models", name, "generations"))
    rows.add("ingests", ingest_row("killed", name, "generations", "running"))
    for number in range(PROMPTS):
        prompt = prompt_row(name, number, "people")
        rows.add("prompts", prompt)
        for text in (made_up_text(rng, 25 + number + extra) for extra in range(STORIES + 1)):
            is_drawn = len(text.split()) < 25 + number + STORIES
            add_human_story(rows, name, prompt["prompt_id"], text, number, is_drawn=is_drawn)
        for source in ("alpha/cool", "beta/hot"):
            for sample in samples(rng, number, source):
                add_sample(rows, name, prompt["prompt_id"], source, *sample, ingest_id="models")
        add_sample(
            rows, name, prompt["prompt_id"], "ghost/none", 0, "never seen", "ok", ingest_id="killed"
        )
    return rows


def samples(
    rng: np.random.Generator, number: int, source: str
) -> Iterator[tuple[int, str | None, str]]:
    """Sample index, text and status: all is well but for the first two prompts of alpha."""
    for index in range(STORIES):
        text: str | None = made_up_text(rng, 30)
        status = "ok"
        if source == "alpha/cool" and number == 0:
            if index == 0:
                continue
            text, status = (None, "failed") if index == 1 else (text, "ok")
        if source == "alpha/cool" and number == 1 and index == 0:
            text, status = "...", "empty"
        if source == "beta/hot" and number == 2 and index == 1:
            text = "two words"
        yield index, text, status


def add_human_story(
    rows: RawRows, study_name: str, prompt_id: str, text: str, rank: int, *, is_drawn: bool
) -> None:
    story = story_row(study_name, prompt_id, text, "people")
    rows.add("stories", story)
    rows.add("texts", text_row(text))
    if is_drawn:
        drawn = len(
            [
                row
                for row in rows.tables.get("story_selections", [])
                if row["prompt_id"] == prompt_id
            ]
        )
        rows.add(
            "story_selections",
            {
                "selection_id": "now",
                "story_id": story["story_id"],
                "study_name": study_name,
                "prompt_id": prompt_id,
                "prompt_rank": rank,
                "draw_index": drawn,
                "story_token_count": len(text.split()),
                "prompt_length_sd": 1.0,
            },
        )
    else:
        for selection_id in ("now", "earlier"):
            rows.add("rejects", reject_row(study_name, story, selection_id))


def reject_row(study_name: str, story: Row, selection_id: str) -> Row:
    return {
        "reject_id": content_id(story["story_id"], selection_id),
        "study_name": study_name,
        "reject_kind": "story",
        "reason": "beyond_stories_per_prompt",
        "detail": "3 stories were drawn before it.",
        "prompt_id": story["prompt_id"],
        "story_id": story["story_id"],
        "selection_id": selection_id,
    }


def add_sample(
    rows: RawRows,
    study_name: str,
    prompt_id: str,
    source: str,
    index: int,
    text: str | None,
    status: str,
    *,
    ingest_id: str,
) -> None:
    rows.add(
        "stories",
        story_row(
            study_name,
            prompt_id,
            text,
            ingest_id,
            story_source_name=source,
            sample_index=index,
            status=status,
        ),
    )
    if text is not None:
        rows.add("texts", text_row(text))


def generated_study(rng: np.random.Generator) -> RawRows:
    """Two language models without people; the number of samples is not said."""
    rows, name = RawRows(), "generated"
    rows.add("studies", study_row(name))
    rows.add("ingests", ingest_row("alone", name, "generations"))
    for number in range(4):
        prompt = prompt_row(name, number, "alone")
        rows.add("prompts", prompt)
        for source in ("alpha/cool", "beta/hot"):
            for index in range(2):
                text = made_up_text(rng, 24)
                add_sample(
                    rows, name, prompt["prompt_id"], source, index, text, "ok", ingest_id="alone"
                )
    return rows


def written_here_study(rng: np.random.Generator) -> RawRows:
    """One language model that `calibrary generate` asked, with one sample that never came."""
    rows, name, source = RawRows(), "written_here", "gamma/wide"
    rows.add("studies", study_row(name))
    rows.add("ingests", ingest_row("asked_before", name, "generated_stories", "superseded"))
    rows.add("ingests", ingest_row("asked", name, "generated_stories"))
    rows.add("language_models", language_model_row("gamma"))
    rows.add(
        "decoding_strategies",
        {
            "decoding_strategy_id": "wide",
            "decoding_strategy_name": "wide",
            "sampling_temperature": 1.25,
        },
    )
    for number in range(4):
        prompt = prompt_row(name, number, "asked")
        rows.add("prompts", prompt)
        request = {"study_name": name, "prompt_id": prompt["prompt_id"], "samples_per_prompt": 3}
        rows.add(
            "generation_requests", request | {"ingest_id": "asked", "story_source_name": source}
        )
        for index in range(2 if number == 0 else 3):
            text = made_up_text(rng, 24)
            story = story_row(
                name,
                prompt["prompt_id"],
                text,
                "asked",
                story_source_name=source,
                sample_index=index,
                language_model_id="gamma",
                decoding_strategy_id="wide",
                maximum_story_tokens=30,
                batch_row_count=4,
            )
            before = story | {"story_id": story["story_id"][::-1], "ingest_id": "asked_before"}
            rows.add("stories", story, before)
            rows.add("texts", text_row(text))
            rows.add("story_tokens", token_row(story["story_id"]))
    return rows


def language_model_row(name: str) -> Row:
    return {
        "language_model_id": name,
        "language_model_name": name,
        "weights_name": name,
        "language_model_revision": "sha256:0",
        "quantization": "none",
        "dtype_name": "float32",
        "template_name": "plain",
        "template_sha256": "0" * 64,
        "template_text": "Prompt: {prompt}\n\nStory:\n",
        "backend_name": "transformers",
    }


def token_row(story_id: str) -> Row:
    """Two tokens whose means are exact in binary: confidence 3/8, log loss 5/4."""
    return {
        "story_id": story_id,
        "token_ids": [7, 2],
        "confidences": [0.5, 0.25],
        "log_probabilities_nats": [-1.0, -1.5],
        "sampling_confidences": [0.75, 0.25],
        "sampling_log_probabilities_nats": [-0.5, -1.0],
    }


def imported_study(rng: np.random.Generator) -> RawRows:
    """Ready vectors of people and two language models, one of them flat."""
    rows, name = RawRows(), "imported"
    rows.add("studies", study_row(name))
    rows.add("ingests", ingest_row("vectors", name, "diversity_vectors"))
    for number in range(8):
        prompt = prompt_row(name, number, "vectors") | {"prompt_id": str(number)}
        rows.add("prompts", prompt | {"prompt_text": None, "character_count": None})
        for source in ("human", "alpha/cool", "flat/cool"):
            vector = rng.uniform(0.2, 0.9, size=3)
            row = vector_row(name, str(number), source, vector)
            if source == "flat/cool":
                row["syntactic_diversity"] = 1.0
            rows.add("diversity_vectors", row)
    add_forecasts(rng, rows, name)
    return rows


def add_forecasts(rng: np.random.Generator, rows: RawRows, study_name: str) -> None:
    """Forecasts of one classifier, so many that bins lie on both sides of 300 tokens."""
    rows.add("ingests", ingest_row("forecasts", study_name, "forecasts"))
    rows.add(
        "scorings",
        {
            "scoring_id": "scoring",
            "study_name": study_name,
            "test_set_name": study_name,
            "language_model_name": "classifier",
            "ingest_id": "forecasts",
            "file_name": "classifier.csv",
        },
    )
    for place, confidence in enumerate(rng.beta(3.0, 1.0, size=2_000).tolist()):
        rows.add(
            "scored_tokens",
            {
                "scoring_id": "scoring",
                "document_id": "scoring",
                "token_index": place,
                "confidence": confidence,
                "is_hit": bool(rng.random() < confidence),
                "log_probability_nats": -float(rng.exponential()),
            },
        )


def vector_row(study_name: str, prompt_id: str, source: str, vector: Any) -> Row:
    row: Row = {
        "study_name": study_name,
        "prompt_id": prompt_id,
        "story_source_name": source,
        "story_kind": "human" if source == "human" else "generated",
        "file_name": "vectors.csv",
        "line_number": 1,
        "ingest_id": "vectors",
    }
    row |= dict(
        zip(
            ("semantic_diversity", "lexical_diversity", "syntactic_diversity"),
            (float(value) for value in vector),
            strict=True,
        )
    )
    if source != "human":
        row["language_model_name"], row["decoding_strategy_name"] = source.split("/")
    return row


def all_studies() -> list[RawRows]:
    rng = np.random.default_rng(20240)
    return [
        compared_study(rng),
        generated_study(rng),
        imported_study(rng),
        written_here_study(rng),
    ]


def earlier_publication() -> RawRows:
    """A publication of the imported forecasts: one figure as now, one of other bins, one gone."""
    rows = RawRows()
    rows.add(
        "publications",
        {
            "publication_id": "earlier",
            "published_at": NOW,
            "raw_state_id": "earlier",
            "build_code_id": "earlier",
            "package_versions_json": "{}",
            "status": "published",
        },
    )
    for measure_name, binning, language_model_name, bin_count in (
        ("accuracy", None, "classifier", "null"),
        ("ece_plugin", "equal_width", "classifier", "10"),
        ("accuracy", None, "retired", "null"),
    ):
        kind = "token_mean" if binning is None else "calibration_error"
        subject = ("imported", language_model_name, binning, None, None, None)
        rows.add(
            "published_figures",
            {
                "publication_id": "earlier",
                "figure_id": content_id("imported", kind, measure_name, *subject),
                "study_name": "imported",
                "figure_set_id": "earlier",
                "figure_kind": kind,
                "measure_name": measure_name,
                "test_set_name": "imported",
                "language_model_name": language_model_name,
                "binning": binning,
                "figure_value": 0.5,
                "noise_sd": 0.25,
                "noise_kind": "document_bootstrap",
                "sample_count": 7,
                "sample_id": "seven tokens",
                "definition_json": f'{{"definition_version":"{DEFINITION_VERSION}",'
                f'"bin_count":{bin_count},"window_tokens":null,"overlap_tokens":null}}',
            },
        )
    return rows
