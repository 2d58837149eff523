"""Claims about the places of samples in their set: one each, the first stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from flows.study import StudySettings
from tests.ingest.ingest_inputs import generation_records, rows, write_jsonl
from tests.ingest.ingest_inputs import ingest_generation_file as ingest

Connection = duckdb.DuckDBPyConnection


def test_missing_sample_indexes_are_numbered_in_the_order_of_the_file(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = generation_records(sample_count=3)
    for record in records:
        del record["sample_index"]
    report = ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", records))
    assert rows(warehouse, "select line_number, sample_index from raw.stories order by 1") == [
        (number, (number - 1) % 3) for number in range(1, 13)
    ]
    assert report.notes == (
        "12 records give no sample index: numbered from 0 in the order of the file, "
        "per prompt and story source",
    )


def test_a_sample_twice_is_one_row_and_with_another_text_a_reject(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = generation_records()
    records += [dict(records[0]), dict(records[1], text="Another text")]
    report = ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", records))
    assert (report.row_count, report.inserted_count) == (10, 8)
    assert report.reject_counts == {"duplicate_sample": 2}
    assert report.notes == ("1 records repeat another word for word: one row",)
    assert rows(
        warehouse, "select reject_kind, line_number, detail from raw.rejects order by 2"
    ) == [
        ("sample", 9, "The same sample has the same text on line 1 of g.jsonl, which stays."),
        ("sample", 10, "The same sample has another text on line 2 of g.jsonl, which stays."),
    ]
    assert rows(
        warehouse,
        "select text from raw.stories inner join raw.texts using (text_id) where line_number = 2",
    ) == [("Generated 0 1",)]
    # An edited file of the same name: the changed text is a reject, not lost without a word.
    edited = [dict(records[0], text="Edited text"), *records[1:8]]
    report = ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", edited))
    assert report.reject_counts == {"duplicate_sample": 1}
    assert report.notes == (
        "another version of g.jsonl is in tiny already, and its records stay beside the new "
        "ones; for a study of this version alone, give another --name",
    )
    # Another file with the same request and another text: the finished one stays.
    other = write_jsonl(tmp_path / "h.jsonl", [dict(records[0], text="Third text")])
    assert ingest(warehouse, small, other).reject_counts == {"duplicate_sample": 1}
    assert rows(warehouse, "select count(*) from raw.stories") == [(8,)]


@pytest.mark.parametrize("is_one_file", [True, False])
def test_a_second_request_for_the_same_place_in_a_set_is_rejected_and_the_first_stays(
    tmp_path: Path, warehouse: Connection, small: StudySettings, is_one_file: bool
) -> None:
    first = generation_records()
    again = [{**record, "seed": record["seed"] + 1} for record in first]
    if is_one_file:
        report = ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", first + again))
    else:
        ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", first))
        report = ingest(warehouse, small, write_jsonl(tmp_path / "h.jsonl", again))
    assert report.reject_counts == {"duplicate_sample": len(again)}
    assert rows(
        warehouse,
        "select count(*), count(distinct (prompt_id, story_source_name, sample_index)), "
        "max(seed) from raw.stories",
    ) == [(len(first), len(first), 101)]
    details = rows(
        warehouse, "select distinct detail from raw.rejects where detail like '%line 1 %'"
    )
    assert details == [
        (
            "Sample 0 of toy/temperature_0.7 is on line 1 of g.jsonl already, with seed 100, not "
            "seed 101; that one stays.",
        )
    ]


def test_the_reject_of_a_second_request_says_what_differs(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    first = generation_records()
    ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", first))
    again = dict(first[0], quantization="nf4", template_name="chat", seed=None, revision="r1")
    ingest(warehouse, small, write_jsonl(tmp_path / "h.jsonl", [again]))
    assert rows(warehouse, "select detail, file_name, line_number from raw.rejects") == [
        (
            "Sample 0 of toy/temperature_0.7 is on line 1 of g.jsonl already, with no revision, "
            "not revision r1, no quantization, not quantization nf4, no template, not template "
            "chat, seed 100, not no seed; that one stays.",
            "h.jsonl",
            1,
        )
    ]


def test_a_killed_ingest_gives_up_the_places_that_another_took_since(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    first = write_jsonl(tmp_path / "g.jsonl", generation_records())
    ingest(warehouse, small, first)
    warehouse.execute("update raw.ingests set status = 'running', row_count = null")
    again = [{**record, "seed": record["seed"] + 1} for record in generation_records()]
    assert ingest(warehouse, small, write_jsonl(tmp_path / "h.jsonl", again)).inserted_count == 8
    report = ingest(warehouse, small, first)
    assert report.reject_counts == {"duplicate_sample": 8}
    assert rows(
        warehouse,
        "select stories.file_name, count(*) from raw.stories "
        "inner join raw.ingests using (ingest_id) where ingests.status = 'done' group by all",
    ) == [("h.jsonl", 8)]


def test_a_second_file_without_sample_indexes_is_told_of_the_option(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = [
        {name: value for name, value in record.items() if name not in {"sample_index", "seed"}}
        for record in generation_records()
    ]
    ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", records))
    more = [record | {"text": record["text"] + " more"} for record in records]
    report = ingest(warehouse, small, write_jsonl(tmp_path / "h.jsonl", more))
    assert report.reject_counts == {"duplicate_sample": 8}
    assert report.notes[1] == (
        "8 of them are rejected, since numbering starts from 0 in every input and their numbers "
        "are taken: give a column of sample indexes with --sample-index-column"
    )
    assert rows(warehouse, "select detail from raw.rejects where line_number = 1") == [
        (
            "The same sample has another text on line 1 of g.jsonl, which stays. The record gives "
            "no sample index, and numbering starts from 0 in every input: give a column of sample "
            "indexes with --sample-index-column.",
        )
    ]


def without_numbers(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [
        {name: value for name, value in record.items() if name not in {"sample_index", "seed"}}
        for record in records
    ]


def test_no_sample_is_numbered_into_the_gap_of_another_file(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    """Its place in the file would give it the missing number of a set that holds its text."""
    complete = generation_records(sample_count=4)
    gap = [record for record in complete if record["sample_index"] != 1]
    ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", gap))
    unnumbered = write_jsonl(tmp_path / "h.jsonl", without_numbers(gap))
    report = ingest(warehouse, small, unnumbered)
    assert report.inserted_count == 0
    assert report.reject_counts == {"duplicate_sample": 12}
    found = rows(warehouse, "select detail from raw.rejects where detail like 'Sample 1 of%'")
    assert len(found) == 4
    assert "whether this is it cannot be told" in found[0][0]


def test_a_longer_version_of_a_file_without_numbers_goes_on_behind_the_first(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = generation_records(sample_count=3)
    first = [record for record in records if record["sample_index"] < 2]
    ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", without_numbers(first)))
    report = ingest(warehouse, small, write_jsonl(tmp_path / "h.jsonl", without_numbers(records)))
    assert report.inserted_count == 4
    assert rows(
        warehouse, "select sample_index, count(*) from raw.stories group by all order by 1"
    ) == [
        (0, 4),
        (1, 4),
        (2, 4),
    ]
