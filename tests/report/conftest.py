from __future__ import annotations

from pathlib import Path

import pytest

from tests.report.snapshots import add_token_calibration, copied_home


@pytest.fixture(scope="session")
def scored_home(small_study_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The small study's snapshot with one scored test set; tests must not change it."""
    home = copied_home(small_study_home, tmp_path_factory.mktemp("report") / "home")
    add_token_calibration(home)
    return home
