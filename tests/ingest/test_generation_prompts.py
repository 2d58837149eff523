"""Claims about how generations find the prompts they answer."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from flows.corpora.errors import SelectionError
from flows.corpora.layouts import StoriesLayout
from flows.ingest_prompts import LatePromptError
from flows.ingest_stories import ingest_stories
from flows.study import StudySettings
from tests.ingest.ingest_inputs import generation_records, rows, story_records, write_jsonl
from tests.ingest.ingest_inputs import ingest_generation_file as ingest
from udfs.identity import prompt_id

Connection = duckdb.DuckDBPyConnection


def test_prompt_ids_find_the_prompts_of_the_study(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    ingest_stories(
        warehouse, small, StoriesLayout(str(write_jsonl(tmp_path / "s.jsonl", story_records())))
    )
    records = [
        {name: value for name, value in record.items() if name != "prompt"}
        for record in [*generation_records(), dict(generation_records()[0], prompt_id="unheard")]
    ]
    report = ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", records))
    assert report.reject_counts == {"unknown_prompt": 1}
    assert rows(
        warehouse, "select line_number, detail from raw.rejects where reason = 'unknown_prompt'"
    ) == [(9, "No prompt in the study has the id 'unheard'.")]
    assert rows(warehouse, "select count(distinct prompt_id) from raw.stories") == [(4,)]


@pytest.mark.parametrize("order", [("a", "b"), ("b", "a")])
def test_every_id_of_a_prompt_finds_it(
    tmp_path: Path, warehouse: Connection, small: StudySettings, order: tuple[str, str]
) -> None:
    """One text under two ids, in one file or in two: records of either id are of one prompt."""
    prompts = [{"prompt_id": f"p{i}", "prompt": f"Prompt number {i}"} for i in range(4)]
    prompts += [{"prompt_id": name, "prompt": "One text"} for name in (*order, "c")]
    first = [dict(record, prompt_id=record["prompt_id"]) for record in generation_records()]
    for name, known in (("p.jsonl", prompts[:5]), ("q.jsonl", prompts[5:])):
        ingest(
            warehouse,
            small,
            write_jsonl(tmp_path / f"g{name}", [dict(r, seed=ord(name[0])) for r in first]),
            prompts=str(write_jsonl(tmp_path / name, [*prompts[:4], *known])),
        )
    records = [
        {"prompt_id": name, "model": "m", "strategy": "t", "text": f"Text of {name}"}
        for name in ("a", "b", "c")
    ]
    report = ingest(warehouse, small, write_jsonl(tmp_path / "h.jsonl", records))
    assert (report.inserted_count, report.reject_counts) == (3, {})
    assert rows(
        warehouse,
        "select distinct prompt_id from raw.stories where language_model_name = 'm'",
    ) == [(prompt_id("One text"),)]


def test_prompt_ids_find_the_prompts_of_a_second_file(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    prompts = [{"prompt_id": f"p{i}", "prompt": f"Prompt number {i}"} for i in range(4)]
    records = [
        {name: value for name, value in record.items() if name != "prompt"}
        for record in generation_records(5)
    ]
    report = ingest(
        warehouse,
        small,
        write_jsonl(tmp_path / "g.jsonl", records),
        prompts=str(write_jsonl(tmp_path / "p.jsonl", prompts)),
    )
    assert report.reject_counts == {"unknown_prompt": 2}
    assert rows(warehouse, "select prompt_id from raw.prompts order by source_prompt_id") == [
        (prompt_id(f"Prompt number {i}"),) for i in range(4)
    ]


def test_prompt_ids_alone_stand_for_themselves(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = [
        {name: value for name, value in record.items() if name != "prompt"}
        for record in generation_records()
    ]
    assert ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", records)).row_count == 8
    assert rows(
        warehouse, "select prompt_id, prompt_text, character_count from raw.prompts order by 1"
    ) == [(f"p{i}", None, None) for i in range(4)]


def test_a_prompts_file_that_comes_after_its_ids_is_refused(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = [
        {name: value for name, value in record.items() if name != "prompt"}
        for record in generation_records()
    ]
    ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", records))
    again = write_jsonl(tmp_path / "h.jsonl", records[:4])
    prompts = [{"prompt_id": f"p{i}", "prompt": f"Prompt number {i}"} for i in (5, 2)]
    file = str(write_jsonl(tmp_path / "p.jsonl", prompts))
    with pytest.raises(LatePromptError, match=r"the text of 'p2', which tiny knows without one"):
        ingest(warehouse, small, again, prompts=file)
    # With ids only again, they are the same prompts.
    assert ingest(warehouse, small, again).inserted_count == 0


def test_generations_for_fewer_than_four_prompts_count_for_nothing(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    path = write_jsonl(tmp_path / "g.jsonl", generation_records(3))
    with pytest.raises(
        SelectionError, match=r"at least 4 prompts, tiny would have 3 with g\.jsonl"
    ):
        ingest(warehouse, small, path)
    assert rows(warehouse, "select status from raw.ingests") == [("running",)]
    assert rows(warehouse, "select count(*) from raw.studies") == [(0,)]
