from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pytest

from flows.corpora.errors import InvalidRecordError, MissingColumnError, SelectionError
from flows.corpora.layouts import GenerationsLayout, StoriesLayout
from flows.ingest_generations import ingest_generations
from flows.ingest_ledger import SecondReadingError
from flows.ingest_prompts import LatePromptError
from flows.ingest_stories import ingest_stories
from flows.study import StudySettings, settings_with
from tests.ingest.ingest_inputs import raw_state, rows, story_records, write_jsonl
from udfs.identity import content_id, prompt_id

Connection = duckdb.DuckDBPyConnection


def generation_records(prompt_count: int = 4, sample_count: int = 2) -> list[dict[str, Any]]:
    return [
        {
            "prompt_id": f"p{prompt}",
            "prompt": f"Prompt number {prompt}",
            "model": "toy",
            "strategy": "temperature_0.7",
            "sample_index": sample,
            "seed": 100 + sample,
            "finish_reason": "end_turn",
            "temperature": 0.7,
            "text": f"Generated {prompt} {sample}",
        }
        for prompt in range(prompt_count)
        for sample in range(sample_count)
    ]


def ingest(connection: Connection, settings: StudySettings, path: Path, **options: object):  # type: ignore[no-untyped-def]
    return ingest_generations(connection, settings, GenerationsLayout(str(path), **options))  # type: ignore[arg-type]


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


def test_stop_is_read_as_the_end_token_and_noted(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = [record | {"finish_reason": "Stop"} for record in generation_records()]
    report = ingest(warehouse, small, write_jsonl(tmp_path / "g.jsonl", records))
    assert rows(warehouse, "select distinct stop_reason from raw.stories") == [("eos",)]
    assert report.notes == (
        "stop reason 'stop' of 8 records is read as eos; it may also have been a stop string",
    )
