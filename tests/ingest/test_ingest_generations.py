from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from flows.corpora.errors import InvalidRecordError, MissingColumnError
from flows.ingest_ledger import SecondReadingError
from flows.study import StudySettings, settings_with
from tests.ingest.ingest_inputs import generation_records, raw_state, rows, write_jsonl
from tests.ingest.ingest_inputs import ingest_generation_file as ingest
from udfs.identity import content_id, prompt_id

Connection = duckdb.DuckDBPyConnection


def test_generations_enter_the_ledger_under_their_request(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    path = write_jsonl(tmp_path / "g.jsonl", generation_records())
    report = ingest(warehouse, small, path)
    assert (report.is_new, report.row_count, report.inserted_count) == (True, 8, 8)
    assert (report.reject_counts, report.notes) == ({}, ())
    prompt = prompt_id("Prompt number 1")
    assert rows(
        warehouse,
        "select prompt_id, story_id, story_source_name, language_model_name, "
        "decoding_strategy_name, sampling_temperature, sample_index, seed, status, stop_reason, "
        "file_name from raw.stories where line_number = 4",
    ) == [
        (
            prompt,
            content_id("generated", prompt, "toy", None, None, "temperature_0.7", None, 1, 101),
            "toy/temperature_0.7",
            "toy",
            "temperature_0.7",
            0.7,
            1,
            101,
            "ok",
            "eos",
            "g.jsonl",
        )
    ]
    before = raw_state(warehouse)
    assert not ingest(warehouse, small, path).is_new
    assert raw_state(warehouse) == before


def test_statuses_say_what_became_of_a_sample(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = generation_records()
    changes: list[dict[str, Any]] = [
        {"text": ""},
        {"text": " ... "},
        {"text": None},
        {"text": "Word"},
        {"finish_reason": "length"},
        {"finish_reason": "content_filter"},
        {"finish_reason": None},
    ]
    for record, change in zip(records, changes, strict=False):
        record.update(change)
    report = ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", records))
    assert rows(
        warehouse,
        "select status, stop_reason, text_id is null from raw.stories order by line_number",
    ) == [
        ("empty", "eos", False),
        ("empty", "eos", False),
        ("failed", "eos", True),
        ("too_short", "eos", False),
        ("truncated", "length", False),
        ("ok", None, False),
        ("ok", None, False),
        ("ok", "eos", False),
    ]
    assert report.notes == ("stop reason 'content_filter' of 1 records is not known: left empty",)


def test_names_come_from_constants_and_combined_columns(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = [
        {"prompt": r["prompt"], "family": "olmo", "stage": r["sample_index"], "response": r["text"]}
        for r in generation_records()
    ]
    path = write_jsonl(tmp_path / "g.jsonl", records)
    for name, options in (
        ("columns", {"language_model_column": "family+stage"}),
        ("constant", {"language_model": "olmo", "language_model_column": "stage"}),
    ):
        settings = settings_with(small, study_name=name)
        report = ingest(warehouse, settings, path, decoding_strategy="temperature_1.0", **options)
        assert report.row_count == 8
        assert rows(
            warehouse,
            "select story_source_name, count(*) from raw.stories "  # noqa: S608
            f"where study_name = '{name}' group by all order by all",
        ) == [("olmo-0/temperature_1.0", 4), ("olmo-1/temperature_1.0", 4)]


def test_the_same_bytes_are_not_read_in_a_second_way(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    """A corrected option would leave the rows of the wrong reading beside the right ones."""
    path = write_jsonl(tmp_path / "g.jsonl", generation_records())
    ingest(warehouse, small, path)
    before = raw_state(warehouse)
    with pytest.raises(SecondReadingError) as error:
        ingest(warehouse, small, path, stop_reason_column="text")
    assert "with no such option, now it is stop_reason_column 'text'" in str(error.value)
    assert raw_state(warehouse) == before


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"sample_index": 10_000}, "a whole number from 0 to 9,999, got 10000 on line 2"),
        ({"sample_index": "0_1"}, "got '0_1' on line 2"),
        ({"sample_index": "\u0661"}, "got '\u0661' on line 2"),
        ({"sample_index": None}, "line 2 of g.jsonl has none and those before it have one"),
        ({"strategy": "a/b"}, "column 'strategy' must hold names without a slash, got 'a/b' on"),
        ({"model": "a\0b"}, "column 'model' must hold no NUL character, line 2 of g.jsonl has"),
        ({"prompt_id": "a\0b"}, "column 'prompt_id' must hold no NUL character, line 2 of"),
    ],
)
def test_a_value_that_could_be_read_in_two_ways_is_refused_with_its_line(
    tmp_path: Path,
    warehouse: Connection,
    small: StudySettings,
    changes: dict[str, Any],
    sentence: str,
) -> None:
    records = generation_records()
    records[1].update(changes)
    path = write_jsonl(tmp_path / "g.jsonl", records)
    with pytest.raises(InvalidRecordError) as error:
        ingest(warehouse, small, path)
    assert sentence in str(error.value)


def test_a_constant_strategy_with_a_slash_is_refused(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    path = write_jsonl(tmp_path / "g.jsonl", generation_records())
    with pytest.raises(MissingColumnError, match="no slash, got 'a/b'"):
        ingest(warehouse, small, path, decoding_strategy="a/b")


BAD_GENERATIONS: dict[str, tuple[dict[str, Any], dict[str, Any], type[Exception], str]] = {
    "no strategy": (
        {"strategy": ...},
        {},
        MissingColumnError,
        "name it with --decoding-strategy-column. Or give one name for all with "
        "--decoding-strategy.",
    ),
    "no model": (
        {"model": ...},
        {},
        MissingColumnError,
        "name it with --language-model-column. Or give one name for all with --language-model.",
    ),
    "two strategies": (
        {},
        {"decoding_strategy": "x", "decoding_strategy_column": "strategy"},
        MissingColumnError,
        "give one of --decoding-strategy and --decoding-strategy-column",
    ),
    "no prompt": ({"prompt": ..., "prompt_id": ...}, {}, MissingColumnError, "--prompt-id-column"),
    "an empty model": (
        {"model": ""},
        {},
        InvalidRecordError,
        "name a language model in 'model', line 1 of g.jsonl has none",
    ),
    "a negative sample": (
        {"sample_index": -1},
        {},
        InvalidRecordError,
        "must hold a whole number from 0 to 9,999, got -1 on line 1 of g.jsonl",
    ),
    "half a sample": (
        {"sample_index": 1.5},
        {},
        InvalidRecordError,
        "must hold a whole number from 0 to 9,999, got 1.5 on line 1",
    ),
    "a seed of words": (
        {"seed": "x"},
        {},
        InvalidRecordError,
        "column 'seed' must hold a whole number, got 'x' on line 1",
    ),
    "a huge seed": ({"seed": 1 << 63}, {}, InvalidRecordError, "column 'seed' must hold"),
    "a negative temperature": (
        {"temperature": -0.1},
        {},
        InvalidRecordError,
        "column 'temperature' must hold a number of at least 0, got -0.1 on line 1",
    ),
    "a number as text": (
        {"text": 3},
        {},
        InvalidRecordError,
        "column 'text' must hold text, got 3 on line 1 of g.jsonl",
    ),
}


@pytest.mark.parametrize("case", BAD_GENERATIONS)
def test_unusable_generations_are_refused_with_their_place(
    tmp_path: Path, warehouse: Connection, small: StudySettings, case: str
) -> None:
    change, options, error, sentence = BAD_GENERATIONS[case]
    records = [
        {name: value for name, value in (record | change).items() if value is not ...}
        for record in generation_records()
    ]
    with pytest.raises(error) as raised:
        ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", records), **options)
    assert sentence in str(raised.value)
    assert rows(warehouse, "select count(*) from raw.ingests where status = 'done'") == [(0,)]


def test_csv_numbers_are_read_as_numbers(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    lines = ["prompt,model,strategy,sample_idx,seed,temperature,story"]
    lines += [
        f"Prompt number {i},toy,t,{sample},9223372036854775807,,text {sample}"
        for i in range(4)
        for sample in ("0", "1.0")
    ]
    (tmp_path / "g.csv").write_text("\n".join(lines))
    ingest(warehouse, small, tmp_path / "g.csv")
    assert rows(
        warehouse,
        "select distinct sample_index, seed, sampling_temperature from raw.stories order by 1",
    ) == [(0, 9223372036854775807, None), (1, 9223372036854775807, None)]


@pytest.mark.shared_data
def test_the_real_generations_are_four_story_sources(
    shared_data: Path, warehouse: Connection
) -> None:
    report = ingest(
        warehouse,
        StudySettings(study_name="olmo"),
        shared_data / "olmo_generations" / "generations.jsonl.gz",
        language_model="OLMo-2-7B",
        language_model_column="stage",
        decoding_strategy="temperature_1.0",
    )
    assert (report.row_count, report.inserted_count, report.reject_counts) == (5240, 5240, {})
    assert rows(
        warehouse,
        "select story_source_name, count(*), count(distinct prompt_id), "
        "count(distinct sample_index), any_value(sampling_temperature) "
        "from raw.stories group by all order by all",
    ) == [
        (f"OLMo-2-7B-{stage}/temperature_1.0", 1310, 131, 10, 1.0)
        for stage in ("base", "dpo", "instruct", "sft")
    ]
    assert rows(
        warehouse, "select stop_reason, count(*) from raw.stories group by all order by all"
    ) == [("eos", 1297), ("length", 3943)]


def test_stop_is_read_as_the_end_token_and_noted(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = [record | {"finish_reason": "Stop"} for record in generation_records()]
    report = ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", records))
    assert rows(warehouse, "select distinct stop_reason from raw.stories") == [("eos",)]
    assert report.notes == (
        "stop reason 'stop' of 8 records is read as eos; it may also have been a stop string",
    )
