from __future__ import annotations

import io
from pathlib import Path

import duckdb
import pytest
from rich.console import Console

from flows import model_choice
from flows.ingest_stages import ingest_study, is_ingested
from flows.progress import REPORTER, Reporter
from flows.settings import load_settings
from flows.status import read_status, status_text
from flows.study import Study, load_study
from tests.ingest.ingest_inputs import TOKENIZER, raw_state, story_records, write_jsonl
from warehouse.connection import open_warehouse, work_path


def small_study(folder: Path) -> Study:
    write_jsonl(folder / "s.jsonl", story_records())
    (folder / "study.yml").write_text(
        "study_name: tiny\nstories: [{path: s.jsonl}]\nstories_per_prompt: 2\n"
        "minimum_prompt_characters: 1\nminimum_story_tokens: 1\n"
        f"tokenizer_name: {TOKENIZER}\n"
    )
    return load_study(folder / "study.yml")


def forget_selection(connection: duckdb.DuckDBPyConnection) -> None:
    """Leave what a kill leaves between the last row of an ingest and its selection."""
    connection.execute("update raw.studies set selection_id = null")


def test_a_study_whose_stories_are_not_selected_is_not_ingested(tmp_path: Path) -> None:
    settings, study = load_settings(tmp_path), small_study(tmp_path)
    unselected = "stories not selected: ingest them again"
    ingest_study(settings, study)
    assert unselected not in status_text(read_status(settings))
    with open_warehouse(work_path(tmp_path)) as connection:
        assert is_ingested(connection, settings, study)
        before = raw_state(connection)
        forget_selection(connection)
        assert not is_ingested(connection, settings, study)
    assert unselected in status_text(read_status(settings))
    ingest_study(settings, study)
    with open_warehouse(work_path(tmp_path)) as connection:
        assert is_ingested(connection, settings, study)
        assert raw_state(connection) == before


def test_an_older_selection_is_not_the_one_of_new_stories(tmp_path: Path) -> None:
    """Killed between the last row of a second ingest and its selection, the first one is left."""
    settings, study = load_settings(tmp_path), small_study(tmp_path)
    ingest_study(settings, study)
    with open_warehouse(work_path(tmp_path)) as connection:
        older = connection.execute("select selection_id from raw.studies").fetchall()[0][0]
    more = [record | {"text": f"{record['text']} and more"} for record in story_records()]
    write_jsonl(tmp_path / "s.jsonl", [*story_records(), *more])
    ingest_study(settings, study)
    with open_warehouse(work_path(tmp_path)) as connection:
        before = raw_state(connection)
        connection.execute("update raw.studies set selection_id = $older", {"older": older})
        assert not is_ingested(connection, settings, study)
    ingest_study(settings, study)
    with open_warehouse(work_path(tmp_path)) as connection:
        assert is_ingested(connection, settings, study)
        assert raw_state(connection) == before


def test_a_registered_study_keeps_the_models_that_auto_meant(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, study = load_settings(tmp_path), small_study(tmp_path)
    file = tmp_path / "study.yml"
    file.write_text(file.read_text().replace(f"tokenizer_name: {TOKENIZER}\n", ""))
    study = load_study(file)
    ingest_study(settings, study)
    with open_warehouse(work_path(tmp_path)) as connection:
        before = raw_state(connection)
    # Another program has downloaded GPT-2's tokenizer since.
    monkeypatch.setattr(model_choice, "try_to_load_from_cache", lambda *_: "/cache/tokenizer.json")
    with open_warehouse(work_path(tmp_path)) as connection:
        assert is_ingested(connection, settings, study)
    ingest_study(settings, study)
    with open_warehouse(work_path(tmp_path)) as connection:
        assert raw_state(connection) == before


def test_an_input_taken_out_of_the_study_file_is_noted(tmp_path: Path) -> None:
    settings, study = load_settings(tmp_path), small_study(tmp_path)
    assert ingest_study(settings, study).notes == ()
    write_jsonl(tmp_path / "t.jsonl", story_records())
    file = tmp_path / "study.yml"
    file.write_text(file.read_text().replace("s.jsonl", "t.jsonl"))
    write_jsonl(tmp_path / "t.jsonl", [r | {"text": f"{r['text']} more"} for r in story_records()])
    notes = ingest_study(settings, load_study(file)).notes
    assert [note.split(" was read")[0] for note in notes] == ["s.jsonl"]


def test_reading_is_followed_by_the_bytes_of_the_files(tmp_path: Path) -> None:
    study, written = small_study(tmp_path), io.StringIO()
    records = [record | {"unread": "x" * 250_000} for record in story_records()]
    write_jsonl(tmp_path / "s.jsonl", records)
    reporter = Reporter()
    reporter.console = Console(file=written, soft_wrap=True)
    token = REPORTER.set(reporter)
    try:
        ingest_study(load_settings(tmp_path), study)
    finally:
        REPORTER.reset(token)
    assert "s.jsonl: 2.0 MB in" in written.getvalue()
