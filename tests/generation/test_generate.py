"""Claims about the ledger of generated stories: what is asked comes once, and comes again alike."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import duckdb
import pytest

from flows.generate import generate_study
from flows.ingest_stages import ingest_study
from flows.language_models.errors import LanguageModelError
from flows.settings import Settings, prepare_home
from flows.study import load_study
from tests.generation.conftest import PROMPTS, MakeStudy
from tests.language_models.tiny_language_model import save_tiny
from udfs.errors import CalibraryError
from warehouse.connection import open_warehouse, work_path

pytestmark = [pytest.mark.usefixtures("harness"), pytest.mark.timeout(600)]

SAMPLES = len(PROMPTS) * 3
STORIES = """
select stories.* exclude (wall_seconds, batch_row_count, padded_token_count), texts.text,
    story_tokens.* exclude (story_id)
from raw.stories as stories
inner join raw.texts as texts on stories.text_id = texts.text_id
inner join raw.story_tokens as story_tokens on stories.story_id = story_tokens.story_id
order by stories.story_id
"""
TOKENS = f"select story_id, text, token_ids from ({STORIES}) order by story_id"  # noqa: S608
"""Without the probabilities: their last bits depend on the shape of the batch and the threads."""

VISIBLE = """
select story_source_name, count(*)
from raw.stories as stories inner join raw.ingests as ingests using (ingest_id)
where story_kind = 'generated' and ingests.status = 'done'
group by 1 order by 1
"""


def rows(settings: Settings, sql: str) -> list[tuple[Any, ...]]:
    with open_warehouse(work_path(settings.home), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def another_home(settings: Settings, study: Path, folder: Path) -> Settings:
    """Return a fresh home in which *study* is ingested."""
    made = settings.model_copy(update={"home": folder / "another"})
    prepare_home(made)
    ingest_study(made, load_study(study))
    return made


def test_every_requested_sample_has_one_row_with_its_tokens(
    settings: Settings, make_study: MakeStudy
) -> None:
    report = generate_study(settings, make_study())
    assert sum(report.status_counts.values()) == 2 * SAMPLES
    assert rows(settings, VISIBLE) == [("tiny/temperature_1.2", SAMPLES), ("tiny/top_k_5", SAMPLES)]
    # Kept beside the tokens: the end token too, where there was one.
    lengths = (
        "select count(*) from raw.stories inner join raw.story_tokens using (story_id) where "
        "len(token_ids) <> story_token_count + (case when stop_reason = 'eos' then 1 else 0 end)"
    )
    assert rows(settings, lengths) == [(0,)]
    requested = rows(settings, "select distinct samples_per_prompt from raw.generation_requests")
    assert requested == [(3,)]


def test_a_second_call_writes_nothing(settings: Settings, make_study: MakeStudy) -> None:
    study = make_study()
    generate_study(settings, study)
    before = work_path(settings.home).read_bytes()
    assert generate_study(settings, study).status_counts == {}
    assert work_path(settings.home).read_bytes() == before


def test_batch_size_and_what_was_there_before_change_no_story(
    settings: Settings, make_study: MakeStudy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    few = make_study(generation={"samples_per_prompt": 1, "maximum_story_tokens": 12, "seed": 1})
    generate_study(settings, few)
    monkeypatch.setenv("CALIBRARY_GENERATION_BATCH_SIZE", "7")
    study = make_study()
    generate_study(settings, study)
    other = another_home(settings, study, tmp_path)
    monkeypatch.setenv("CALIBRARY_GENERATION_BATCH_SIZE", "1")
    generate_study(other, study)
    assert rows(other, TOKENS) == rows(settings, TOKENS)
    assert len(rows(other, TOKENS)) == 2 * SAMPLES


def test_another_revision_makes_new_rows_and_touches_no_old_one(
    settings: Settings, make_study: MakeStudy, tmp_path: Path
) -> None:
    generate_study(settings, make_study())
    before = rows(settings, STORIES)
    changed = save_tiny(tmp_path / "retrained", seed=6)
    retrained = make_study(language_models=[{"name": "tiny", "weights": str(changed)}])
    generate_study(settings, retrained)
    after = rows(settings, STORIES)
    assert len(after) == 2 * len(before)
    assert set(map(repr, before)) < set(map(repr, after))
    # The marts see the rows of the way that is asked for now, and of that one alone.
    assert rows(settings, VISIBLE) == [("tiny/temperature_1.2", SAMPLES), ("tiny/top_k_5", SAMPLES)]
    assert generate_study(settings, make_study()).status_counts == {}
    assert rows(settings, STORIES) == after


def test_a_changed_strategy_of_the_same_name_makes_new_rows(
    settings: Settings, make_study: MakeStudy
) -> None:
    narrow = [{"name": "narrow", "top_k": 2}]
    generate_study(settings, make_study(decoding_strategies=narrow))
    before = rows(settings, STORIES)
    generate_study(settings, make_study(decoding_strategies=[{"name": "narrow", "top_k": 3}]))
    assert set(map(repr, before)) < set(map(repr, rows(settings, STORIES)))
    assert rows(settings, VISIBLE) == [("tiny/narrow", SAMPLES)]


def test_asking_for_fewer_takes_nothing_back(settings: Settings, make_study: MakeStudy) -> None:
    generate_study(settings, make_study())
    generate_study(
        settings,
        make_study(generation={"samples_per_prompt": 1, "maximum_story_tokens": 12, "seed": 1}),
    )
    assert rows(settings, VISIBLE) == [("tiny/temperature_1.2", SAMPLES), ("tiny/top_k_5", SAMPLES)]
    assert rows(settings, "select max(samples_per_prompt) from raw.generation_requests") == [(3,)]


def test_a_prompt_that_does_not_fit_is_a_failed_row_with_a_sentence(
    settings: Settings, make_study: MakeStudy
) -> None:
    study = make_study(
        decoding_strategies=["greedy"],
        generation={"samples_per_prompt": 1, "maximum_story_tokens": 120, "seed": 1},
    )
    report = generate_study(settings, study)
    assert report.status_counts["failed"] >= 1
    found = rows(settings, "select distinct failure from raw.stories where status = 'failed'")
    assert all("context of 128 tokens" in failure for (failure,) in found)
    # It has its row and is not asked for again, unless the user says so.
    assert generate_study(settings, study).status_counts == {}
    again = generate_study(settings, study, retries_failed=True)
    assert again.status_counts == {"failed": report.status_counts["failed"]}


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"language_models": ["nobody"]},
            "the name it is served by. or be one of",
        ),
        (
            {"language_models": [{"name": "tiny", "weights": "packaged:nothing"}]},
            "packaged model must be one of",
        ),
    ],
)
def test_a_language_model_that_is_not_there_is_one_sentence(
    settings: Settings, make_study: MakeStudy, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(CalibraryError, match=sentence):
        generate_study(settings, make_study(**changes))


def test_chatting_without_a_template_is_refused_before_anything_is_written(
    settings: Settings, make_study: MakeStudy, tiny_folder: Path
) -> None:
    chatting = [{"name": "tiny", "weights": str(tiny_folder), "template": "chat"}]
    with pytest.raises(LanguageModelError, match="write template: plain"):
        generate_study(settings, make_study(language_models=chatting))
    assert rows(settings, "select count(*) from raw.generation_requests") == [(0,)]


def start(settings: Settings, study: Path, harness: dict[str, str]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "flows", "generate", str(study), "--home", str(settings.home)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=os.environ
        | harness
        | {
            "CALIBRARY_GENERATION_BATCH_SIZE": "4",
            "CALIBRARY_DEVICE": "cpu",
            "OMP_NUM_THREADS": "1",
        },
    )


def test_kill_9_and_a_second_start_give_what_one_undisturbed_run_gives(
    settings: Settings, make_study: MakeStudy, tmp_path: Path, harness: dict[str, str]
) -> None:
    study = make_study(generation={"samples_per_prompt": 20, "maximum_story_tokens": 12, "seed": 1})
    log = work_path(settings.home).with_name("work.duckdb.wal")
    process = start(settings, study, harness)
    deadline, sizes = time.monotonic() + 300, set[int]()
    # Some seven batches of 4 in: each one that is written lets the log grow.
    while len(sizes) < 20 and time.monotonic() < deadline and process.poll() is None:
        sizes |= {log.stat().st_size} if log.exists() else set()
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    assert process.wait(timeout=60) == -signal.SIGKILL, "it must not have finished before the kill"
    with duckdb.connect(work_path(settings.home)) as connection:
        finished = connection.execute(STORIES).fetchall()
    asked = 2 * len(PROMPTS) * 20
    assert 0 < len(finished) < asked
    # What is there is not written again.
    assert sum(generate_study(settings, study).status_counts.values()) == asked - len(finished)
    resumed = rows(settings, STORIES)
    assert set(map(repr, finished)) <= set(map(repr, resumed))
    undisturbed = another_home(settings, study, tmp_path)
    generate_study(undisturbed, study)
    assert rows(undisturbed, TOKENS) == rows(settings, TOKENS)
    assert len(resumed) == asked
