"""Fixtures that several test folders share."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import hypothesis
import pytest

from flows.settings import Settings, configure_environment

ROOT = Path(__file__).resolve().parent.parent

# Properties are claims about values, not about time: a busy machine must not fail them.
hypothesis.settings.register_profile("calibrary", deadline=None)
hypothesis.settings.load_profile("calibrary")


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The real inputs beside the checkout, or where ``CALIBRARY_SHARED_DATA`` says."""
    folder = Path(os.environ.get("CALIBRARY_SHARED_DATA", ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"the real inputs are not here ({folder}); the shipped study is tested anyway")
    return folder


@pytest.fixture(scope="session", autouse=True)
def _environment(tmp_path_factory: pytest.TempPathFactory) -> None:
    """No analytics, and no hub: what is tested must work offline."""
    configure_environment(Settings(home=tmp_path_factory.mktemp("home")))
    os.environ.setdefault("HF_HUB_OFFLINE", "1")


@pytest.fixture(scope="session")
def small_study_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the shipped study ran once, from end to end; tests must not change it."""
    home = tmp_path_factory.mktemp("small_study") / "home"
    completed = subprocess.run(
        [sys.executable, "-m", "flows", "run", "--home", str(home)],
        capture_output=True,
        text=True,
        timeout=280,
    )
    assert completed.returncode == 0, completed.stderr
    return home
