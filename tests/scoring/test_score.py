"""Claims about scored test sets: every token once, whatever is killed, changed or asked again."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from flows.corpora.layouts import TextsLayout
from flows.ingest_stages import ingest_named, ingest_study
from flows.language_models.errors import LanguageModelError
from flows.run_log import RecordedRun
from flows.score import request_by_name, score_request, score_study
from flows.settings import Settings, prepare_home
from flows.status import read_status, status_text
from flows.study import StudyError, load_study
from tests.language_models.tiny_language_model import VOCABULARY, tiny_weights
from tests.scoring.conftest import DOCUMENTS, MakeStudy
from warehouse.connection import open_warehouse, work_path

pytestmark = [pytest.mark.usefixtures("harness"), pytest.mark.timeout(600)]

EXACT = (
    "select document_id, token_index, token_id, context_token_count, is_hit, rank, byte_count "
    "from raw.scored_tokens order by all"
)
LOSSES = "select log_probability_nats from raw.scored_tokens order by document_id, token_index"

TOKEN_COUNT = sum(len(text.split()) for text in DOCUMENTS)


def rows(settings: Settings, sql: str) -> list[tuple[Any, ...]]:
    with open_warehouse(work_path(settings.home), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_every_token_has_one_row_and_a_short_text_that_of_a_plain_forward_pass(
    settings: Settings, make_study: MakeStudy
) -> None:
    report = score_study(settings, make_study())
    assert report.token_counts == {"made/tiny": TOKEN_COUNT}
    found = rows(
        settings,
        "select token_id, log_probability_nats, is_hit, byte_count, len(temperature_sketch) "
        "from raw.scored_tokens as tokens inner join raw.scored_documents as documents "
        "using (scoring_id, document_id) where document_index = 1 order by token_index",
    )
    token_ids = [VOCABULARY.index(word) if word in VOCABULARY else 0
                 for word in DOCUMENTS[1].split()]  # fmt: skip
    with torch.inference_mode():
        logits = tiny_weights()(input_ids=torch.tensor([[1, *token_ids]])).logits[0, :-1]
    exact = torch.log_softmax(logits.double(), dim=1).numpy()
    assert [row[0] for row in found] == token_ids
    assert [row[1] for row in found] == pytest.approx(
        exact[np.arange(len(token_ids)), token_ids], abs=2e-5
    )
    assert [row[2] for row in found] == (exact.argmax(axis=1) == token_ids).tolist()
    assert sum(row[3] for row in found) == len(DOCUMENTS[1].encode())
    assert {row[4] for row in found} == {16}
    lengths = "select distinct rank = 0, len(mass_ahead_sketch) from raw.scored_tokens order by 1"
    ahead = rows(settings, lengths)
    assert ahead == [(False, 16), (True, None)]


def test_a_second_call_writes_nothing(settings: Settings, make_study: MakeStudy) -> None:
    study = make_study()
    score_study(settings, study)
    before = work_path(settings.home).read_bytes()
    assert score_study(settings, study).token_counts == {}
    assert work_path(settings.home).read_bytes() == before


def test_a_new_text_is_scored_alone_and_a_missing_one_leaves_the_test_set(
    settings: Settings, make_study: MakeStudy, tmp_path: Path
) -> None:
    study = make_study()
    score_study(settings, study)
    extra = tmp_path / "more.jsonl"
    extra.write_text(json.dumps({"text": "w1 w2 w3"}) + "\n")
    ingest_named(settings, "tiny_study", TextsLayout(str(extra), "made"), {})
    assert score_study(settings, study).token_counts == {"made/tiny": 3}
    fewer = make_study(test_sets=[{"name": "made", "path": "texts.jsonl", "document_count": 2}])
    assert score_study(settings, fewer).token_counts == {"made/tiny": 0}
    assert rows(
        settings, "select count(*) from raw.scored_documents where document_index is not null"
    ) == [(2,)]


def test_other_windows_are_another_scoring_and_supersede_the_first(
    settings: Settings, make_study: MakeStudy
) -> None:
    score_study(settings, make_study())
    score_study(settings, make_study(scoring={"window_tokens": 50, "overlap_tokens": 10}))
    found = rows(
        settings,
        "select window_tokens, status from raw.scorings inner join raw.ingests using (ingest_id) "
        "order by 1",
    )
    assert found == [(50, "done"), (100, "superseded")]


def test_stories_of_a_study_are_a_test_set_with_their_prompt_as_context(
    settings: Settings, make_study: MakeStudy, tmp_path: Path
) -> None:
    (tmp_path / "stories.jsonl").write_text(
        "".join(
            json.dumps(
                {"prompt_id": f"p{place}", "prompt": f"w{place}", "text": f"w{place} w{9 + text}"}
            )
            + "\n"
            for place in range(4)
            for text in range(2)
        )
    )
    test_set = {"name": "stories", "story_source": "human"}
    study = make_study(
        stories=[{"path": "stories.jsonl"}],
        stories_per_prompt=2,
        minimum_prompt_characters=1,
        minimum_story_tokens=1,
        tokenizer_name="packaged:all-minilm-l6-v2",
        test_sets=[test_set, test_set | {"name": "framed", "context": "prompt"}],
    )
    report = score_study(settings, study)
    assert report.token_counts == {"stories/tiny": 16, "framed/tiny": 16}
    contexts = rows(
        settings,
        "select distinct context_token_count from raw.scored_tokens inner join raw.scorings "
        "using (scoring_id) where test_set_name = 'framed' order by 1",
    )
    # BOS, "Prompt:", the prompt's word and "Story:" stand before the first token.
    assert contexts == [(4,), (5,)]


def test_texts_are_scored_by_name_without_a_study_file(
    settings: Settings, tiny_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "plain").mkdir()
    for name, text in (("a.txt", "w1 w2"), ("b.txt", "w3"), ("c.txt", " \n"), ("d.txt", "w3")):
        (tmp_path / "plain" / name).write_text(text)
    report = ingest_named(settings, "plain", TextsLayout(str(tmp_path / "plain"), "plain"), {})
    assert dict(report.reports[0].reject_counts) == {"empty_text": 1, "duplicate_text": 1}
    assert "2 texts, not scored" in status_text(read_status(settings))
    request = request_by_name("plain", [str(tiny_folder)])
    assert score_request(settings, request).token_counts == {"plain/tiny": 3}
    assert "scored plain by tiny: 3 tokens" in status_text(read_status(settings))


def test_a_test_set_that_keeps_texts_of_an_edited_file_says_so(
    settings: Settings, tmp_path: Path
) -> None:
    folder = tmp_path / "texts"
    folder.mkdir()
    for name, text in (("bus.txt", "The bus is late."), ("tea.txt", "The tea is hot.")):
        (folder / name).write_text(text)
    layout = TextsLayout(str(folder), test_set_name="texts")
    (first,) = ingest_named(settings, "texts", layout, {}).reports
    assert first.notes == ()
    (folder / "tea.txt").write_text("The tea is cold.")
    (second,) = ingest_named(settings, "texts", layout, {}).reports
    (note,) = second.notes
    assert note.startswith("the test set texts keeps what another version of tea.txt held")
    assert "(texts: 1)" in note
    assert rows(settings, "select count(*) from raw.test_set_texts") == [(3,)]


def test_status_shows_a_failed_command_until_it_is_done_however_long_ago(
    settings: Settings,
) -> None:
    # (command, study, status), oldest first: one day each.
    ended = [
        ("ingest", "broken", "failed"),
        ("ingest", "mended", "failed"),
        ("ingest", "mended", "done"),
        *[("measure", "fine", "done")] * 7,
    ]
    with open_warehouse(work_path(settings.home)) as connection:
        for day, (command, study_name, status) in enumerate(ended, 1):
            run = RecordedRun(connection, command, study_name)
            run.begin(datetime(2026, 1, day))  # noqa: DTZ001 - stored without a zone
            run.end(status, "why")
    shown = [(run["command"], run["study_name"], run["status"])
             for run in read_status(settings)["runs"]]  # fmt: skip
    assert shown == [*[("measure", "fine", "done")] * 5, ("ingest", "broken", "failed")]


def test_continuations_are_scored_after_their_contexts(
    settings: Settings, tiny_folder: Path, tmp_path: Path
) -> None:
    path = tmp_path / "pairs.csv"
    path.write_text("context,continuation\nw1 w2 ,w3 w4\nw5 w1,1 w2\n")
    ingest_named(settings, "pairs", TextsLayout(str(path), "pairs"), {})
    score_request(settings, request_by_name("pairs", [str(tiny_folder)]))
    found = rows(
        settings,
        "select outcome_label, context_token_count, is_across_join, byte_count "
        "from raw.scored_tokens inner join raw.scored_documents using (scoring_id, document_id) "
        "order by document_index, token_index",
    )
    assert found == [
        ("w3", 3, False, 2), ("w4", 4, False, 3), ("w11", 2, True, 1), ("w2", 3, False, 3),
    ]  # fmt: skip


def test_what_no_test_set_can_be_is_refused(
    settings: Settings, make_study: MakeStudy, tmp_path: Path
) -> None:
    with pytest.raises(StudyError, match="one of path, story_source"):
        make_study(test_sets=[{"name": "none"}])
    with pytest.raises(StudyError, match="must name language_models that score them"):
        make_study(language_models=[])
    with pytest.raises(StudyError, match="'made' twice"):
        make_study(test_sets=[{"name": "made", "path": "texts.jsonl"}] * 2)
    study = make_study(
        test_sets=[{"name": "made", "path": "texts.jsonl"},
                   {"name": "absent", "story_source": "human"}],
    )  # fmt: skip
    with pytest.raises(LanguageModelError, match="absent of tiny_study has none from human"):
        score_study(settings, study)
    served = {"name": "served", "weights": "any", "endpoint": "http://localhost:1/v1"}
    with pytest.raises(LanguageModelError, match="an endpoint shows no logits"):
        score_study(settings, make_study(language_models=[served]))


DRIVER = """
import os, signal, sys
from pathlib import Path
import flows.score
from flows.settings import load_settings
write, written = flows.score.upsert, []
def write_and_die(connection, table, rows, **options):
    written.append(table.name)
    if written.count("scored_documents") == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return write(connection, table, rows, **options)
flows.score.upsert = write_and_die
flows.score.score_study(load_settings(Path(sys.argv[1])), Path(sys.argv[2]))
"""
"""Dies when the tokens of the second batch are there and its documents are not."""


def test_killed_and_run_again_it_ends_as_if_never_interrupted(
    settings: Settings, make_study: MakeStudy, tmp_path: Path, harness: dict[str, str]
) -> None:
    study = make_study()
    process = subprocess.run(
        [sys.executable, "-c", DRIVER, str(settings.home), str(study)],
        capture_output=True,
        env=os.environ | harness,
        timeout=300,
    )
    assert process.returncode == -signal.SIGKILL, process.stderr
    done = rows(settings, "select count(*) from raw.scored_documents")[0][0]
    assert 0 < done < len(DOCUMENTS)
    assert "so far" in status_text(read_status(settings))
    score_study(settings, study)
    other = settings.model_copy(update={"home": tmp_path / "another"})
    prepare_home(other)
    ingest_study(other, load_study(study))
    score_study(other, study)
    assert rows(settings, EXACT) == rows(other, EXACT)
    # The last bits depend on the threads of the process, see the module of causal models.
    found, expected = rows(settings, LOSSES), rows(other, LOSSES)
    assert [row[0] for row in found] == pytest.approx([row[0] for row in expected], abs=2e-5)
