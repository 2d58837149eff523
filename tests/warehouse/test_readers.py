from __future__ import annotations

import datetime as dt
import random
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
import sqlalchemy as sa

from tests.warehouse.rows import ingest, story, study, text
from warehouse.connection import open_warehouse
from warehouse.measurements import Feature, TextCut, missing_cuts, read_texts
from warehouse.readers import raw_state_id, read_arrow
from warehouse.schema import (
    ingests,
    publications,
    runs,
    stories,
    story_selections,
    studies,
    text_embeddings,
    text_pos_bigrams,
    text_word_sets,
    texts,
)
from warehouse.writers import upsert


@pytest.fixture
def connection(work: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with open_warehouse(work) as opened:
        yield opened


def test_read_arrow_binds_values_in_text_and_in_statements(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    upsert(connection, texts, [text("it's", "one"), text("b", "two")])
    statement = sa.select(texts.c.text).where(texts.c.text_id == sa.bindparam("text_id"))
    for query in (statement, "select text from raw.texts where text_id = $text_id"):
        found = read_arrow(connection, query, {"text_id": "it's"})
        assert found.to_pylist() == [{"text": "one"}]


def test_the_raw_state_does_not_depend_on_the_order_rows_came_in(tmp_path: Path) -> None:
    rows = [text(f"{index:032x}", f"text {index}") for index in range(5_000)]
    ids = set()
    for seed in range(3):
        random.Random(seed).shuffle(rows)  # noqa: S311
        with open_warehouse(tmp_path / f"{seed}.duckdb") as connection:
            for start in range(0, len(rows), 1_000 + 500 * seed):
                upsert(connection, texts, rows[start : start + 1_000 + 500 * seed])
            ids.add(raw_state_id(connection))
            upsert(connection, texts, rows)
            ids.add(raw_state_id(connection))
    assert len(ids) == 1


@pytest.mark.parametrize(
    "change",
    [
        lambda connection: upsert(connection, texts, [text("b", "other")]),
        lambda connection: upsert(connection, texts, [text("a", "longer")], update=["text"]),
        lambda connection: upsert(
            connection, ingests, [ingest("first", "done", row_count=3)], update=["row_count"]
        ),
        lambda connection: upsert(connection, text_word_sets, [word_set("a", words=["b", "a"])]),
    ],
)
def test_the_raw_state_changes_with_any_value(
    connection: duckdb.DuckDBPyConnection, change: Callable[..., int]
) -> None:
    upsert(connection, texts, [text("a", "one")])
    upsert(connection, ingests, [ingest("first", "done", row_count=2)])
    before = raw_state_id(connection)
    assert change(connection) == 1
    assert raw_state_id(connection) != before


def test_the_raw_state_tells_a_row_from_two_equal_hashes_that_cancel(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    # An exclusive or alone would not see a value that moves between two rows.
    upsert(connection, texts, [text("a", "one", 1), text("b", "two", 2)])
    before = raw_state_id(connection)
    swapped = [text("a", "one", 2), text("b", "two", 1)]
    assert upsert(connection, texts, swapped, update=["word_count"]) == 2
    assert raw_state_id(connection) != before


def test_the_raw_state_ignores_when_and_how_often_work_was_done(
    connection: duckdb.DuckDBPyConnection,
) -> None:
    upsert(connection, ingests, [ingest("first", "done")])
    before = raw_state_id(connection)
    now = dt.datetime(2026, 5, 6)  # noqa: DTZ001 - stored without a zone
    run = {
        "run_id": "run",
        "command": "measure",
        "started_at": now,
        "status": "done",
        "package_versions_json": "{}",
    }
    upsert(connection, runs, [run])
    publication = {
        "publication_id": "publication",
        "published_at": now,
        "raw_state_id": before,
        "build_code_id": "code",
        "status": "building",
        "package_versions_json": "{}",
    }
    upsert(connection, publications, [publication])
    again = [ingest("first", "done", started_at=now, finished_at=now)]
    upsert(connection, ingests, again, update=["started_at", "finished_at"])
    assert raw_state_id(connection) == before


def word_set(text_id: str, word_limit: int = 0, **values: Any) -> dict[str, Any]:
    return {"text_id": text_id, "word_limit": word_limit, "words": ["a"], "word_count": 1} | values


def embedding(text_id: str, word_limit: int, **values: Any) -> dict[str, Any]:
    return {
        "text_id": text_id,
        "word_limit": word_limit,
        "embedding_model_name": "embedder",
        "max_tokens": 256,
        "embedded_tokens": 1,
        "truncated_tokens": 0,
        "embedding": [1.0],
    } | values


def bigrams(text_id: str, word_limit: int, **values: Any) -> dict[str, Any]:
    return {
        "text_id": text_id,
        "word_limit": word_limit,
        "tagging_model_name": "tagger",
        "max_characters": 5000,
        "pos_bigrams": [],
        "tagged_characters": 1,
        "truncated_characters": 0,
    } | values


def fill(connection: duckdb.DuckDBPyConnection, seed: int) -> list[dict[str, Any]]:
    """Write a random study and return its stories, each with ``words`` and ``is_selected``."""
    rng = random.Random(seed)  # noqa: S311
    upsert(connection, studies, [study(), study(study_name="other", selection_id=None)])
    upsert(connection, ingests, [ingest("first", "done"), ingest("killed", "running")])
    known = [text(f"t{index}", "word " * rng.randint(0, 9)) for index in range(12)]
    upsert(connection, texts, known)
    written = []
    for index in range(60):
        chosen = rng.choice(known)
        kind = rng.choice(["human", "generated"])
        row = story(
            story_id=f"s{index}",
            study_name=rng.choice(["study", "study", "study", "other"]),
            prompt_id=f"p{rng.randint(0, 4)}",
            text_id=chosen["text_id"],
            story_kind=kind,
            status=rng.choice(["ok", "ok", "truncated", "too_short", "empty", "failed"]),
            ingest_id=rng.choice(["first", "first", "first", "killed"]),
        )
        upsert(connection, stories, [row])
        selection = rng.choice(["current", "current", "outdated"])
        if kind == "human" and row["study_name"] == "study":
            selected = {
                "selection_id": selection,
                "story_id": row["story_id"],
                "study_name": "study",
                "prompt_id": row["prompt_id"],
                "prompt_rank": 0,
                "draw_index": 0,
                "story_token_count": 1,
                "prompt_length_sd": 1.0,
            }
            upsert(connection, story_selections, [selected])
        written.append(row | {"words": chosen["word_count"], "is_selected": selection == "current"})
    return written


def wanted_cuts(written: list[dict[str, Any]], minimum_common_words: int) -> set[TextCut]:
    """What a study needs, by the definition, a prompt at a time."""
    by_prompt = defaultdict(list)
    for row in written:
        takes_part = (
            row["is_selected"]
            if row["story_kind"] == "human"
            else row["status"] in {"ok", "too_short", "truncated"}
        )
        if row["study_name"] == "study" and row["ingest_id"] == "first" and takes_part:
            by_prompt[row["prompt_id"]].append(row)
    cuts = set()
    for rows in by_prompt.values():
        common = max(minimum_common_words, min(row["words"] for row in rows))
        for row in rows:
            cuts.add(TextCut(row["text_id"], 0))
            if row["words"] >= common:
                cuts.add(TextCut(row["text_id"], common))
    return cuts


@pytest.mark.parametrize("seed", range(4))
def test_missing_cuts_are_those_of_the_definition_less_the_known_ones(
    connection: duckdb.DuckDBPyConnection, seed: int
) -> None:
    wanted = wanted_cuts(fill(connection, seed), minimum_common_words=3)
    assert any(cut.word_limit for cut in wanted)
    for feature in Feature:
        found = missing_cuts(connection, "study", feature)
        assert set(found) == wanted
        assert len(found) == len(wanted)

    one, two, three = sorted(wanted, key=lambda cut: (cut.text_id, cut.word_limit))[:3]
    upsert(connection, text_word_sets, [word_set(one.text_id, one.word_limit)])
    upsert(connection, text_embeddings, [embedding(two.text_id, two.word_limit)])
    others = [
        embedding(one.text_id, one.word_limit, max_tokens=512),
        embedding(one.text_id, one.word_limit, embedding_model_name="another"),
        embedding(one.text_id, 99),
    ]
    upsert(connection, text_embeddings, others)
    upsert(connection, text_pos_bigrams, [bigrams(three.text_id, three.word_limit)])
    upsert(connection, text_pos_bigrams, [bigrams(one.text_id, one.word_limit, max_characters=9)])
    assert set(missing_cuts(connection, "study", Feature.WORD_SET)) == wanted - {one}
    assert set(missing_cuts(connection, "study", Feature.EMBEDDING)) == wanted - {two}
    assert set(missing_cuts(connection, "study", Feature.POS_BIGRAMS)) == wanted - {three}


def test_texts_are_read_by_their_ids(connection: duckdb.DuckDBPyConnection) -> None:
    upsert(connection, texts, [text("a", "one"), text("b", "two"), text("c", "three")])
    assert read_texts(connection, ["c", "a"]) == {"a": "one", "c": "three"}
    assert read_texts(connection, []) == {}
