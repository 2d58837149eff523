"""Every task runner of the settings computes the same rows.

They run in a process of their own: the threads that Prefect and Dask leave draw from Python's
random state, on which the property tests of the same worker keep watch.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from flows.feature_batches import word_set_rows
from flows.settings import TaskRunnerName
from tests.flows.task_runner_probe import BATCH, SETTINGS

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def found(harness: dict[str, str]) -> dict[str, dict[str, list[object]]]:
    finished = subprocess.run(
        [sys.executable, "-m", "tests.flows.task_runner_probe"],
        cwd=ROOT,
        env=os.environ | harness,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0
    return dict(json.loads(finished.stdout.splitlines()[-1]))


@pytest.mark.parametrize("name", list(TaskRunnerName))
def test_a_task_runner_gives_what_a_plain_call_gives(
    found: dict[str, dict[str, list[object]]], name: TaskRunnerName
) -> None:
    rows = found[name.value]
    assert rows == word_set_rows(BATCH, SETTINGS).to_pydict()
    assert rows["words"] == [["one", "two"], ["four", "three"]]
