from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.corpora.errors import (
    InvalidRecordError,
    MissingColumnError,
    SelectionError,
    UnreadableInputError,
    UnusedOptionError,
)
from flows.corpora.huggingface import dataset_id
from flows.corpora.layouts import STORY_OPTIONS, StoriesLayout
from flows.corpora.story_inputs import open_stories
from flows.ingest_selection import select_stories
from flows.ingest_stories import ingest_stories
from flows.settings import load_settings
from flows.status import read_status
from flows.study import StudySettings, settings_with
from tests.ingest.ingest_inputs import TOKENIZER, raw_state, rows, story_records, write_jsonl
from udfs.identity import content_id, prompt_id, text_id
from warehouse.connection import open_warehouse, work_path
from warehouse.measurements import Feature, missing_cuts

Connection = duckdb.DuckDBPyConnection


def ingest(connection: Connection, settings: StudySettings, path: Path, **options: object):  # type: ignore[no-untyped-def]
    return ingest_stories(connection, settings, StoriesLayout(str(path), **options))  # type: ignore[arg-type]


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


@pytest.mark.parametrize("text_column", ["text", "story", "response", "completion"])
def test_common_text_columns_are_recognised(
    tmp_path: Path, warehouse: Connection, small: StudySettings, text_column: str
) -> None:
    records = [{"Prompt": r["prompt"], text_column: r["text"], "score": 3} for r in story_records()]
    assert ingest(warehouse, small, write_jsonl(tmp_path / "a.jsonl", records)).row_count == 8
    assert rows(
        warehouse, "select count(*) from raw.prompts where source_prompt_id = prompt_id"
    ) == [(4,)]


def test_every_format_gives_the_same_stories(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    table = pa.Table.from_pylist(story_records())
    write_jsonl(tmp_path / "a.jsonl", table.to_pylist())
    pq.write_table(table, tmp_path / "a.parquet")
    lines = ["prompt_id;prompt;text"] + [
        f'{r["prompt_id"]};{r["prompt"]};"{r["text"]}"' for r in table.to_pylist()
    ]
    (tmp_path / "a.csv").write_text("\n".join(lines))
    ledgers = []
    for name in ("a.jsonl", "a.parquet", "a.csv"):
        settings = settings_with(small, study_name=name)
        options = {"delimiter": ";"} if name.endswith("csv") else {}
        ingest(warehouse, settings, tmp_path / name, **options)
        ledgers.append(
            rows(
                warehouse,
                "select story_id, prompt_id from raw.stories "  # noqa: S608
                f"where study_name = '{name}' order by 1",
            )
        )
    assert ledgers[0] == ledgers[1] == ledgers[2]
    assert len(ledgers[0]) == 8


def test_all_prompts_can_be_asked_for_by_name(small: StudySettings) -> None:
    assert settings_with(small, prompt_count=4).prompt_count == 4
    assert settings_with(small, prompt_count="all").prompt_count is None


def test_a_delimiter_that_no_file_needs_is_refused(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", story_records())
    with pytest.raises(UnusedOptionError, match=r"got ';' with a\.jsonl"):
        ingest(warehouse, small, path, delimiter=";")


def test_columns_of_any_name_are_mapped_by_options(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = [
        {"nr": int(r["prompt_id"][1:]), "title": r["prompt"], "body": r["text"]}
        for r in story_records()
    ]
    path = write_jsonl(tmp_path / "a.jsonl", records)
    options = {"prompt_id_column": "nr", "prompt_column": "title", "text_column": "body"}
    assert ingest(warehouse, small, path, **options).row_count == 8
    assert rows(warehouse, "select source_prompt_id from raw.prompts order by 1") == [
        (str(i),) for i in range(4)
    ]


def test_a_prompts_file_is_joined_and_what_finds_no_partner_is_rejected(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    prompts = [{"prompt_id": i, "prompt": f"Prompt number {i}"} for i in range(5)]
    stories = [{"prompt_id": int(r["prompt_id"][1:]), "text": r["text"]} for r in story_records()]
    stories += [{"prompt_id": 77, "text": "lost"}, {"prompt_id": None, "text": "lost too"}]
    report = ingest(
        warehouse,
        small,
        write_jsonl(tmp_path / "stories.jsonl", stories),
        prompts=str(write_jsonl(tmp_path / "prompts.jsonl", prompts)),
    )
    assert report.reject_counts == {"unknown_prompt": 2, "no_stories": 1}
    assert rows(warehouse, "select file_name from raw.ingests") == [
        ("prompts.jsonl + stories.jsonl",)
    ]
    assert rows(
        warehouse,
        "select reject_kind, line_number, detail from raw.rejects "
        "where reason = 'unknown_prompt' order by line_number",
    ) == [
        ("story", 9, "No prompt in prompts.jsonl has the id '77'."),
        ("story", 10, "The record has no prompt id."),
    ]
    assert rows(
        warehouse, "select reject_kind, prompt_id from raw.rejects where reason = 'no_stories'"
    ) == [("prompt", prompt_id("Prompt number 4"))]


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


def test_the_writing_prompts_layout_restores_line_ends(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = story_records()
    (tmp_path / "train.wp_source").write_text("".join(f"[ WP ] {r['prompt']}\n" for r in records))
    (tmp_path / "train.wp_target").write_text(
        "".join(f"It began . <newline> <newline> {r['text']}\n" for r in records)
    )
    for study, path in (("folder", tmp_path), ("stem", tmp_path / "train")):
        report = ingest(warehouse, settings_with(small, study_name=study), path)
        assert report.row_count == 8
    target = settings_with(small, study_name="file")
    assert ingest(warehouse, target, tmp_path / "train.wp_target").row_count == 8
    assert rows(warehouse, "select text from raw.texts where text like '%Story 1 0%'") == [
        ("It began .\n\nStory 1 0",)
    ]
    assert rows(
        warehouse, "select distinct file_name, line_number from raw.stories where line_number = 8"
    ) == [("train.wp_target", 8)]


@pytest.mark.parametrize(("sources", "targets"), [(3, 2), (2, 3), (5, 2), (1, 4)])
def test_writing_prompts_files_of_unequal_length_are_refused_with_both_counts(
    tmp_path: Path, warehouse: Connection, small: StudySettings, sources: int, targets: int
) -> None:
    (tmp_path / "a.wp_source").write_text("prompt\n" * sources)
    (tmp_path / "a.wp_target").write_text("story\n" * targets)
    with pytest.raises(InvalidRecordError, match=f"got {sources} and {targets} in"):
        ingest(warehouse, small, tmp_path)


def test_a_writing_prompts_file_without_its_partner_is_refused(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    (tmp_path / "a.wp_source").write_text("prompt\n")
    with pytest.raises(UnreadableInputError, match=r"needs a\.wp_target beside a\.wp_source"):
        ingest(warehouse, small, tmp_path)


def test_a_data_set_folder_is_read_by_the_data_set_library(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    folder = tmp_path / "dataset"
    folder.mkdir()
    records = [{"prompt": r["prompt"], "story": r["text"]} for r in story_records()]
    write_jsonl(folder / "train-00000.jsonl", records[:5])
    write_jsonl(folder / "train-00001.jsonl", records[5:])
    report = ingest(warehouse, small, Path(f"hf:{folder}"))
    assert (report.row_count, report.inserted_count) == (8, 8)
    assert rows(warehouse, "select max(line_number) from raw.stories") == [(8,)]
    assert not ingest(warehouse, small, Path(f"hf:{folder}")).is_new
    with pytest.raises(UnreadableInputError, match="has no 'test'"):
        ingest(warehouse, small, Path(f"hf:{folder}"), split="test")


@pytest.mark.parametrize(
    ("name", "option", "shown"),
    [
        *(
            ("pair", option, f"{shown} must be left out for .wp_source and .wp_target files")
            for option, shown in STORY_OPTIONS.items()
        ),
        *(
            ("hf:owner/name", option, f"{STORY_OPTIONS[option]} must be left out for a Hugging")
            for option in ("prompts", "delimiter", "record_format")
        ),
        ("s.jsonl", "split", "--split must be left out for files, got 'given' with"),
    ],
)
def test_an_option_that_changes_nothing_is_refused(
    tmp_path: Path, name: str, option: str, shown: str
) -> None:
    for ending in ("pair.wp_source", "pair.wp_target", "s.jsonl"):
        (tmp_path / ending).touch()
    path = name if name.startswith("hf:") else str(tmp_path / name)
    with pytest.raises(UnusedOptionError) as raised:
        open_stories(StoriesLayout(path, **{option: "given"}))
    assert str(raised.value).startswith(shown)


def test_an_unreachable_data_set_is_one_sentence(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    with pytest.raises(UnreadableInputError) as raised:
        ingest(warehouse, small, Path("hf:nobody-here/no-such-data-set"))
    assert "nobody-here/no-such-data-set is none" in str(raised.value)
    assert "\n" not in str(raised.value)
    assert rows(warehouse, "select count(*) from raw.ingests") == [(0,)]


def test_only_what_is_no_path_is_a_data_set_id(tmp_path: Path) -> None:
    assert dataset_id("hf:x/y") == "x/y"
    assert dataset_id("euclaise/writingprompts") is None
    assert dataset_id("./data/file") is None
    assert dataset_id(str(tmp_path)) is None
    assert dataset_id("stories.jsonl") is None


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


def test_stories_in_two_files_can_be_selected_after_the_last(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = story_records()
    for name, part in (("a.jsonl", records[:4]), ("b.jsonl", records[4:])):
        layout = StoriesLayout(str(write_jsonl(tmp_path / name, part)))
        ingest_stories(warehouse, small, layout, is_selecting=False)
    assert rows(warehouse, "select selection_id from raw.studies") == [(None,)]
    report = select_stories(warehouse, small)
    assert (report.is_new, report.prompt_count, report.story_count) == (True, 4, 8)


def test_changed_settings_select_anew_and_keep_what_was_selected(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    path = write_jsonl(tmp_path / "a.jsonl", story_records(5, 4))
    ingest(warehouse, small, path)
    before = rows(warehouse, "select * from raw.story_selections order by all")
    other = settings_with(small, selection_seed=3)
    assert not ingest(warehouse, other, path).is_new
    after = rows(warehouse, "select * from raw.story_selections order by all")
    assert set(before) < set(after)
    with pytest.raises(SelectionError):
        ingest(warehouse, settings_with(small, stories_per_prompt=5), path)
    assert rows(warehouse, "select * from raw.story_selections order by all") == after
    assert rows(warehouse, "select selection_seed, stories_per_prompt from raw.studies") == [(3, 2)]
    # And back: its rows are there already.
    assert select_stories(warehouse, small).is_new
    assert rows(warehouse, "select * from raw.story_selections order by all") == after


def test_two_studies_over_one_file_have_a_selection_rejects_and_counts_each(
    tmp_path: Path, small: StudySettings
) -> None:
    records = story_records(5, 3)
    records.append(dict(records[0]))
    path = write_jsonl(tmp_path / "a.jsonl", records)
    other = settings_with(small, study_name="other", embedding_max_tokens=128)
    with open_warehouse(work_path(tmp_path)) as connection:
        reports = [ingest(connection, settings, path) for settings in (small, other)]
        cuts = {
            feature: [missing_cuts(connection, name, feature) for name in ("tiny", "other")]
            for feature in Feature
        }
    assert reports[0].reject_counts == reports[1].reject_counts
    assert reports[0].reject_counts["beyond_stories_per_prompt"] == 5
    assert reports[0].notes == reports[1].notes == ("10 stories of 5 prompts selected",)
    for first, second in cuts.values():
        assert first == second
        assert len(first) > 0
    second, first = read_status(load_settings(tmp_path))["studies"]
    assert (first["study_name"], second["study_name"]) == ("tiny", "other")
    for part in ("stories", "rejects"):
        assert first[part] == second[part]
    assert first["stories"][0]["selected_count"] == 10


def test_counts_made_under_other_limits_do_not_change_a_selection(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = story_records(5)
    for record in records:
        if record["prompt_id"] == "p4":
            record["prompt"] = "x" * 80
    narrow = settings_with(small, maximum_prompt_characters=20)
    path = write_jsonl(tmp_path / "a.jsonl", records)
    ingest(warehouse, narrow, path)
    assert rows(warehouse, "select count(*) from raw.text_token_counts") == [(8,)]
    first = rows(warehouse, "select selection_id from raw.studies")
    ingest(warehouse, small, path)
    assert rows(warehouse, "select count(*) from raw.text_token_counts") == [(10,)]
    ingest(warehouse, narrow, path)
    assert rows(warehouse, "select selection_id from raw.studies") == first


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
