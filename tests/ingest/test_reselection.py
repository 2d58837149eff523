"""Claims about selecting again: after a later file, by other settings, for another study."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from flows.corpora.errors import SelectionError
from flows.corpora.layouts import StoriesLayout
from flows.ingest_selection import select_stories
from flows.ingest_stories import ingest_stories
from flows.settings import load_settings
from flows.status import read_status
from flows.study import StudySettings, settings_with
from tests.ingest.ingest_inputs import ingest_story_file as ingest
from tests.ingest.ingest_inputs import rows, story_records, write_jsonl
from warehouse.connection import open_warehouse, work_path
from warehouse.measurements import Feature, missing_cuts

Connection = duckdb.DuckDBPyConnection


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
