"""Claims about scheduled runs, held against a real Prefect server on loopback."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from flows.cli import run_cli
from flows.study import SMALL_STUDY
from warehouse.connection import snapshot_path

pytestmark = pytest.mark.timeout(900)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[dict[str, str]]:
    """The environment in which Prefect talks to a server of its own."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    environment = {
        "PREFECT_HOME": str(tmp_path / "prefect"),
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
    }
    (tmp_path / "prefect").mkdir()
    process = subprocess.Popen(
        [Path(sys.executable).with_name("prefect"), "server", "start", "--port", str(port)],
        env=os.environ | environment,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for(lambda: is_healthy(environment), 120)
        yield environment
    finally:
        process.terminate()
        process.wait(timeout=60)


def is_healthy(environment: dict[str, str]) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return httpx.get(f"{environment['PREFECT_API_URL']}/health", timeout=2).status_code == 200
    return False


def wait_for(condition: Any, seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < deadline
        time.sleep(0.5)
    return found


def ask(environment: dict[str, str], what: str) -> list[dict[str, Any]]:
    answer = httpx.post(f"{environment['PREFECT_API_URL']}/{what}/filter", json={}, timeout=30)
    return list(answer.json())


def ended_runs(environment: dict[str, str]) -> list[dict[str, Any]]:
    """Scheduled runs that have ended, the earliest first."""
    runs = [
        run
        for run in ask(environment, "flow_runs")
        if run["parent_task_run_id"] is None
        and run["state_type"] in {"COMPLETED", "FAILED", "CRASHED"}
    ]
    return sorted(runs, key=lambda run: run["start_time"])


def test_a_failed_tick_keeps_the_snapshot_and_the_next_one_takes_up_what_is_new(
    small_study_home: Path, tmp_path: Path, server: dict[str, str]
) -> None:
    study = tmp_path / "study" / "small_study.yml"
    shutil.copytree(SMALL_STUDY.parent, study.parent)
    study.write_text(study.read_text() + "schedule: {cron: '* * * * *'}\n")
    stories = study.parent / "small_study" / "stories.jsonl"
    whole = stories.read_text(encoding="utf-8")
    stories.write_text(whole + "{no json}\n", encoding="utf-8")
    home = tmp_path / "home"
    shutil.copytree(small_study_home, home)
    before = snapshot_path(home).read_bytes()
    serving = subprocess.Popen(
        [sys.executable, "-m", "flows", "serve", str(study), "--home", str(home)],
        env=os.environ | server,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        failed = wait_for(lambda: ended_runs(server), 300)[0]
        assert failed["state_type"] == "FAILED"
        assert "line 121" in failed["state"]["message"]
        assert snapshot_path(home).read_bytes() == before
        (artifact,) = [each for each in ask(server, "artifacts") if each["key"]]
        assert "The published snapshot is that of" in artifact["data"]

        line = whole.splitlines()[0].replace("The", "Then the", 1)
        stories.write_text(f"{whole}{line}\n", encoding="utf-8")
        done = wait_for(lambda: ended_runs(server)[1:], 400)[0]
        assert done["state_type"] == "COMPLETED"
        assert snapshot_path(home).read_bytes() != before
    finally:
        serving.send_signal(signal.SIGINT)
        serving.communicate(timeout=60)


@pytest.mark.parametrize(
    ("schedule", "sentence"),
    [
        ("", "must have a schedule to be served by"),
        ("schedule: {cron: '0 6 * *'}\n", "cron"),
        ("schedule: {cron: '61 6 * * *'}\n", "must be a cron line and a timezone"),
        (
            "schedule: {cron: '0 6 * * *', timezone: Nowhere}\n",
            "must be a cron line and a timezone",
        ),
    ],
)
def test_a_schedule_that_is_none_is_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], schedule: str, sentence: str
) -> None:
    study = tmp_path / "study.yml"
    study.write_text(f"study_name: s\nstories: [{{path: s.jsonl}}]\n{schedule}")
    assert run_cli(["serve", str(study), "--home", str(tmp_path / "home")]) == 1
    errors = capsys.readouterr().err
    assert sentence in errors
    assert len(errors.splitlines()) == 1
