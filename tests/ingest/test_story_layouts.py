"""Claims about the shapes that stories come in: formats, columns, joins, data sets."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from flows.corpora.errors import InvalidRecordError, UnreadableInputError, UnusedOptionError
from flows.corpora.huggingface import dataset_id
from flows.corpora.layouts import STORY_OPTIONS, StoriesLayout
from flows.corpora.story_inputs import open_stories
from flows.study import StudySettings, settings_with
from tests.ingest.ingest_inputs import ingest_story_file as ingest
from tests.ingest.ingest_inputs import rows, story_records, write_jsonl
from udfs.identity import prompt_id

Connection = duckdb.DuckDBPyConnection


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
