"""Fixtures that several test folders share."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import hypothesis
import pytest
from filelock import FileLock

from flows.settings import Settings, configure_environment, prepare_home
from warehouse.connection import snapshot_path

ROOT = Path(__file__).resolve().parent.parent

# Before any test module imports Prefect, which reads its settings once: no analytics, a server home
# of its own; and no hub, since what is tested must work offline.
_SETTINGS = Settings(home=Path(tempfile.mkdtemp(prefix="calibrary-tests-")))
prepare_home(_SETTINGS)
configure_environment(_SETTINGS)
os.environ.setdefault("HF_HUB_OFFLINE", "1")

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


@pytest.fixture(scope="session")
def small_study_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home in which the shipped study ran once, from end to end; tests must not change it."""
    base = tmp_path_factory.getbasetemp()
    made = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "made_once"
    # The workers share one run: whoever comes first makes it, and each works on a copy.
    with FileLock(f"{made}.lock"):
        if not snapshot_path(made).exists():
            completed = subprocess.run(
                [sys.executable, "-m", "flows", "run", "--home", str(made)],
                capture_output=True,
                text=True,
                timeout=400,
            )
            assert completed.returncode == 0, completed.stderr
    return Path(shutil.copytree(made, tmp_path_factory.mktemp("small_study") / "home"))
