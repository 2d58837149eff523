"""Claims about scheduled runs, held against a real Prefect server on loopback."""

from __future__ import annotations

import contextlib
import inspect
import json
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
import yaml

from flows.cli import run_cli
from flows.study import SMALL_STUDY, load_study
from warehouse.connection import snapshot_path

CHECKOUT = Path(__file__).resolve().parents[2]

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
    small_study_home: Path,
    tmp_path: Path,
    server: dict[str, str],
    capsys: pytest.CaptureFixture[str],
) -> None:
    study = tmp_path / "study" / "small_study.yml"
    shutil.copytree(SMALL_STUDY.parent, study.parent)
    study.write_text(study.read_text() + "schedule: {cron: '* * * * *'}\n")
    stories = study.parent / "small_study" / "stories.jsonl"
    whole = stories.read_text(encoding="utf-8")
    stories.write_text(whole + "{no json}\n", encoding="utf-8")
    home = tmp_path / "home & co"
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
        report = home / "report.html"
        keyed = {each["key"]: each for each in ask(server, "artifacts") if each["key"]}
        link = keyed["report-run-small-study"]
        assert f"]({tmp_path.as_uri()}/home%20%26%20co/report.html)" in link["data"]
        assert report.stat().st_mtime >= snapshot_path(home).stat().st_mtime
    finally:
        serving.send_signal(signal.SIGINT)
        serving.communicate(timeout=60)
    # Of a failed flow Prefect keeps the exception, whatever it is told: as text, never as a pickle.
    kept = [path for path in (tmp_path / "prefect" / "storage").rglob("*") if path.is_file()]
    assert all("__exc_type__" in json.loads(path.read_bytes()) for path in kept)
    assert_what_moved_is_told(study, home, capsys)


def assert_what_moved_is_told(study: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Both publications of *home* are compared, and a run that drifted fails though it is done."""
    assert run_cli(["compare", str(study), "--json", "--home", str(home)]) == 0
    (found,) = json.loads(capsys.readouterr().out)["studies"]
    # One story of people took the place of another: all that is compared with people has moved on,
    # and the tokens of the stories that are scored are the same.
    assert set(found["status_counts"]) == {"other_sample", "no_noise", "compared"}
    assert found["earlier_publication_id"]
    limit = "{measure_name: centroid_distance, largest_change: 0.000000001}"
    study.write_text(f"{study.read_text()}drift_limits: [{limit}]\n")
    assert run_cli(["run", str(study), "--home", str(home)]) == 1
    output, errors = capsys.readouterr()
    assert "nothing new; the published snapshot is current" in output
    assert "must stay within its drift_limits" in errors


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


def test_the_deployment_names_a_flow_that_takes_its_parameters() -> None:
    """Deploying it and a worker's run were tried by hand; what it names must stay there."""
    from prefect.client.schemas.objects import ConcurrencyLimitConfig
    from prefect.client.schemas.schedules import CronSchedule
    from prefect.flows import load_flow_from_entrypoint

    from flows.serve import ONE_AT_A_TIME

    described = yaml.safe_load((CHECKOUT / "prefect.yaml").read_text(encoding="utf-8"))
    (deployment,) = described["deployments"]
    path, name = deployment["entrypoint"].split(":")
    flow = load_flow_from_entrypoint(f"{CHECKOUT / path}:{name}")
    given = deployment["parameters"]
    inspect.signature(flow.fn).bind(**given)
    assert load_study(CHECKOUT / given["study_path"]).study_name == deployment["name"]
    assert ConcurrencyLimitConfig(**deployment["concurrency_limit"]) == ONE_AT_A_TIME
    for schedule in deployment["schedules"]:
        CronSchedule(**schedule)


@pytest.mark.parametrize("name", ["report.html", "<b>&(x) [y](z).html", "ein `Name`.html"])
def test_the_link_to_the_report_holds_no_markup_of_its_path(name: str) -> None:
    from flows.serve import report_markdown

    page = Path("/tmp") / name  # noqa: S108 - nothing is written
    text = report_markdown(page)
    link, shown = text.split(": `")
    assert link.startswith("[Open the report](file:///tmp/")
    assert not set(link.removeprefix("[Open the report](").removesuffix(")")) & set('<>&()[]`" ')
    assert shown.count("`") == 1
    assert shown.endswith("`")


def test_no_flow_keeps_results_or_pickles() -> None:
    from flows.fit import fit
    from flows.generate import generate
    from flows.measure import measure
    from flows.run_study import run_study
    from flows.score import score
    from flows.serve import scheduled_run

    for flow in (fit, generate, measure, run_study, score, scheduled_run):
        assert (flow.persist_result, flow.result_serializer) == (False, "json"), flow.name
