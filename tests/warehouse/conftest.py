"""Files and processes that the warehouse tests share."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from warehouse.files import work_path

ROOT = Path(__file__).resolve().parents[2]

Process = subprocess.Popen[str]


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """Where a work file would lie; there is none yet."""
    return work_path(tmp_path)


@pytest.fixture
def start_python() -> Iterator[Callable[..., Process]]:
    """Start Python on a piece of code in a process of its own; killed at the end of the test."""
    started: list[Process] = []

    def start(code: str, *arguments: object) -> Process:
        process = subprocess.Popen(
            [sys.executable, "-c", textwrap.dedent(code), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=ROOT,
            # Started in the background, a test run ignores Ctrl-C; children would inherit that.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.communicate()
