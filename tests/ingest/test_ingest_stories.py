from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from flows.corpora.errors import InvalidRecordError, MissingColumnError, SelectionError
from flows.corpora.layouts import StoriesLayout
from flows.ingest_selection import select_stories
from flows.ingest_stories import ingest_stories
from flows.study import StudySettings, settings_with
from tests.ingest.ingest_inputs import TOKENIZER, raw_state, rows, story_records, write_jsonl
from tests.ingest.ingest_inputs import ingest_story_file as ingest
from udfs.identity import content_id, prompt_id, text_id

Connection = duckdb.DuckDBPyConnection


def test_stories_enter_with_identity_place_and_selection(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", story_records())
    seen: list[tuple[int, int]] = []
    report = ingest_stories(
        warehouse, small, StoriesLayout(str(path)), lambda count, size: seen.append((count, size))
    )
    assert (report.is_new, report.row_count, report.inserted_count) == (True, 8, 8)
    assert seen == [(8, path.stat().st_size)]
    assert rows(
        warehouse,
        "select prompt_id, text_id, story_id, story_kind, status, file_name, line_number "
        "from raw.stories where line_number = 3",
    ) == [
        (
            prompt_id("Prompt number 1"),
            text_id("Story 1 0 "),
            content_id("human", prompt_id("Prompt number 1"), text_id("Story 1 0 ")),
            "human",
            "ok",
            "a.jsonl",
            3,
        )
    ]
    assert rows(
        warehouse,
        "select source_prompt_id, prompt_text, character_count from raw.prompts order by 1",
    ) == [(f"p{i}", f"Prompt number {i}", 15) for i in range(4)]
    assert rows(warehouse, "select status, row_count, file_name from raw.ingests") == [
        ("done", 8, "a.jsonl")
    ]
    current = "(select selection_id from raw.studies where study_name = 'tiny')"
    assert rows(
        warehouse,
        "select source_prompt_id, prompt_rank, count(*) from raw.story_selections "  # noqa: S608
        f"inner join raw.prompts using (study_name, prompt_id) where selection_id = {current} "
        "group by 1, 2 order by 2",
    ) == [("p3", 0, 2), ("p2", 1, 2), ("p1", 2, 2), ("p0", 3, 2)]


def test_the_same_input_again_changes_no_row(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = story_records()
    path = write_jsonl(tmp_path / "a.jsonl", records)
    first = ingest(warehouse, small, path)
    before = raw_state(warehouse)
    again = ingest(warehouse, small, path.rename(tmp_path / "renamed.jsonl"))
    assert (again.is_new, again.ingest_id, again.inserted_count) == (False, first.ingest_id, 0)
    assert raw_state(warehouse) == before
    assert not select_stories(warehouse, small).is_new
    assert raw_state(warehouse) == before


def test_all_prompts_can_be_asked_for_by_name(small: StudySettings) -> None:
    assert settings_with(small, prompt_count=4).prompt_count == 4
    assert settings_with(small, prompt_count="all").prompt_count is None


def test_a_prompt_id_with_two_texts_is_refused_with_both_lines(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    prompts = [{"prompt_id": 1, "prompt": "One"}, {"prompt_id": 1, "prompt": "Other"}]
    with pytest.raises(InvalidRecordError, match=r"'1' .* line 1 of p.jsonl .* line 2 of p.jsonl"):
        ingest(
            warehouse,
            small,
            write_jsonl(tmp_path / "a.jsonl", story_records()),
            prompts=str(write_jsonl(tmp_path / "p.jsonl", prompts)),
        )


def test_one_prompt_under_two_ids_keeps_the_smallest_whatever_the_order(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    for study, order in (("up", 1), ("down", -1)):
        records = story_records()
        extra = [
            dict(r, prompt_id="a0", text=r["text"] + "!") for r in records if r["prompt_id"] == "p0"
        ]
        path = write_jsonl(tmp_path / f"{study}.jsonl", (records + extra)[::order])
        ingest(warehouse, settings_with(small, study_name=study), path)
        ids = rows(
            warehouse,
            f"select source_prompt_id from raw.prompts where study_name = '{study}' order by 1",  # noqa: S608
        )
        assert ids == [("a0",), ("p1",), ("p2",), ("p3",)]


def test_the_same_story_twice_is_one_row_and_one_reject(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = story_records()
    report = ingest(
        warehouse, small, write_jsonl(tmp_path / "a.jsonl", [*records, records[2], records[2]])
    )
    assert (report.row_count, report.inserted_count) == (10, 8)
    assert report.reject_counts == {"duplicate_story": 2}
    assert rows(warehouse, "select line_number, detail from raw.rejects order by line_number") == [
        (
            number,
            "The story equals the one on line 3 of a.jsonl for the same prompt, which stays.",
        )
        for number in (9, 10)
    ]
    other = write_jsonl(tmp_path / "b.jsonl", [dict(records[2]), dict(records[3], text="New one")])
    second = ingest(warehouse, small, other)
    assert second.inserted_count == 1
    assert rows(
        warehouse, "select file_name, line_number from raw.rejects where file_name = 'b.jsonl'"
    ) == [("b.jsonl", 1)]


def test_missing_texts_and_prompts_are_rejected_with_their_line(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = [
        *story_records(),
        {"prompt_id": "p0", "prompt": "Prompt number 0", "text": None},
        {"prompt_id": "p9", "prompt": None, "text": "Alone"},
        {"prompt_id": "p0", "prompt": "Prompt number 0", "text": " \n"},
    ]
    report = ingest(warehouse, small, write_jsonl(tmp_path / "a.jsonl", records))
    assert report.row_count == 11
    assert rows(
        warehouse, "select line_number, reject_kind, reason from raw.rejects order by line_number"
    ) == [
        (9, "story", "empty_story"),
        (10, "story", "unknown_prompt"),
        (11, "story", "empty_story"),
    ]
    assert rows(warehouse, "select line_number from raw.stories where status = 'empty'") == [(11,)]


def test_a_prompt_with_nine_stories_is_rejected_and_a_story_of_one_word_too(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    settings = settings_with(small, stories_per_prompt=10, minimum_story_tokens=3)
    records = story_records(5, 10)
    nine = [r for r in records if r["prompt_id"] != "p4"] + [
        r for r in records if r["prompt_id"] == "p4"
    ][:9]
    nine.append({"prompt_id": "p0", "prompt": "Prompt number 0", "text": "Word"})
    report = ingest(warehouse, settings, write_jsonl(tmp_path / "a.jsonl", nine))
    assert report.reject_counts == {
        "too_few_stories": 1,
        "prompt_rejected": 9,
        "story_too_short": 1,
    }
    assert rows(
        warehouse,
        "select detail from raw.rejects where reason in ('too_few_stories', 'story_too_short')"
        " order by 1",
    ) == [
        ("The prompt has 9 unique stories within the limits; 10 are needed.",),
        ("The story has 1 tokens; at least 3 are needed.",),
    ]


def test_an_ingest_of_too_few_prompts_counts_for_nothing(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", story_records(3))
    with pytest.raises(SelectionError, match="found 3 of 3 prompts"):
        ingest(warehouse, small, path)
    assert rows(warehouse, "select status from raw.ingests") == [("running",)]
    for name in ("studies", "story_selections", "rejects"):
        assert rows(warehouse, f"select count(*) from raw.{name}") == [(0,)]  # noqa: S608
    # What it left behind belongs to the next input that brings it.
    whole = write_jsonl(tmp_path / "b.jsonl", story_records(4))
    report = ingest(warehouse, small, whole)
    assert rows(warehouse, "select distinct ingest_id, file_name from raw.stories") == [
        (report.ingest_id, "b.jsonl")
    ]
    assert report.reject_counts == {}


BAD_STORIES: dict[str, tuple[str, str, type[Exception], str]] = {
    "no text column": (
        "a.jsonl",
        '{"prompt": "p", "body": "x"}\n',
        MissingColumnError,
        "the story's text (text or story or response or completion) must be there, "
        "found prompt, body in {path}; name it with --text-column.",
    ),
    "no prompt column": (
        "a.jsonl",
        '{"prompt_id": 1, "text": "x"}\n',
        MissingColumnError,
        "found prompt_id, text in {path}; name it with --prompt-column. "
        "Or give the file that holds the prompts with --prompts.",
    ),
    "two text columns": (
        "a.jsonl",
        '{"prompt": "p", "text": "x", "response": "y"}\n',
        MissingColumnError,
        "found text, response in {path}; choose one with --text-column.",
    ),
    "a wrong delimiter": (
        "a.csv",
        "prompt_id;prompt;text\n1;p;x\n",
        MissingColumnError,
        "found prompt_id;prompt;text in {path}; name it with --text-column. "
        "The header looks delimited by ';': give --delimiter ';'.",
    ),
    "a record without the column": (
        "a.jsonl",
        '{"prompt": "p", "text": "x"}\n{"prompt": "p"}\n',
        InvalidRecordError,
        "every record must have column 'text', line 2 of a.jsonl has only prompt.",
    ),
    "a number as text": (
        "a.jsonl",
        '{"prompt": "p", "text": "x"}\n{"prompt": "p", "text": 5}\n',
        InvalidRecordError,
        "column 'text' must hold text, got 5 on line 2 of a.jsonl.",
    ),
    "a list as prompt id": (
        "a.jsonl",
        '{"prompt_id": [1], "prompt": "p", "text": "x"}\n',
        InvalidRecordError,
        "column 'prompt_id' must hold text or a whole number, got [1] on line 1 of a.jsonl.",
    ),
    "an escaped NUL": (
        "a.jsonl",
        '{"prompt": "p", "text": "x\\u0000y"}\n',
        InvalidRecordError,
        "column 'text' must hold no NUL character, line 1 of a.jsonl has one",
    ),
}


@pytest.mark.parametrize("case", BAD_STORIES)
def test_unusable_stories_are_refused_with_their_place(
    tmp_path: Path, warehouse: Connection, small: StudySettings, case: str
) -> None:
    name, text, error, sentence = BAD_STORIES[case]
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(error) as raised:
        ingest(warehouse, small, path)
    assert sentence.format(path=path) in str(raised.value)
    assert rows(warehouse, "select count(*) from raw.ingests where status = 'done'") == [(0,)]


def test_a_column_option_that_names_no_column_is_refused(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", story_records())
    with pytest.raises(MissingColumnError, match=r"'body' must be there, .* correct --text-column"):
        ingest(warehouse, small, path, text_column="body")


def test_settings_are_registered_as_they_are(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    ingest(warehouse, small, write_jsonl(tmp_path / "a.jsonl", story_records()))
    stored = rows(warehouse, "select settings_json, tokenizer_name from raw.studies")
    assert json.loads(stored[0][0]) == small.model_dump(mode="json")
    assert stored[0][1] == TOKENIZER


@pytest.mark.shared_data
def test_every_response_of_the_real_join_is_selected_or_rejected(
    shared_data: Path, warehouse: Connection
) -> None:
    settings = StudySettings(study_name="wp", tokenizer_name=TOKENIZER)
    folder = shared_data / "writing_prompts"
    report = ingest(
        warehouse,
        settings,
        folder / "responses.jsonl.gz",
        prompts=str(folder / "prompts.jsonl.gz"),
    )
    assert report.row_count == 8169
    selected = rows(
        warehouse, "select count(*), count(distinct prompt_id) from raw.story_selections"
    )[0]
    rejected = dict(rows(warehouse, "select reject_kind, count(*) from raw.rejects group by all"))
    assert selected[0] == 10 * selected[1]
    assert selected[0] + rejected["story"] == 8169
    assert selected[1] + rejected["prompt"] == 477
    # No record is told twice: a place is that of one selected story or of one reject.
    places = rows(
        warehouse,
        """
        select line_number from raw.rejects where reject_kind = 'story'
        union all
        select line_number from raw.stories
        where story_id in (select story_id from raw.story_selections)
        """,
    )
    assert sorted(places) == [(number,) for number in range(1, 8170)]
