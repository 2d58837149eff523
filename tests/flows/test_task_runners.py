"""Every task runner of the settings computes the same rows.

Each runs in a process of its own: the threads that Prefect and Dask leave behind draw from Python's
random state, on which the property tests of the same worker keep watch.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from flows.feature_batches import word_set_rows
from flows.settings import TaskRunnerName
from tests.flows.task_runner_probe import BATCH, SETTINGS

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("name", list(TaskRunnerName))
def test_a_task_runner_gives_what_a_plain_call_gives(name: TaskRunnerName) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "tests.flows.task_runner_probe", name.value],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        timeout=300,
    )
    assert finished.returncode == 0
    found = json.loads(finished.stdout.splitlines()[-1])
    assert found == word_set_rows(BATCH, SETTINGS).to_pydict()
    assert found["words"] == [["one", "two"], ["four", "three"]]
