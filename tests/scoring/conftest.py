"""Test sets for a tiny language model, ingested and ready to be scored."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from flows.ingest_stages import ingest_study
from flows.settings import Settings
from flows.study import load_study
from tests.generation.conftest import settings  # noqa: F401 - a fixture
from tests.language_models.tiny_language_model import WORDS

DOCUMENTS = [
    " ".join(np.random.default_rng(seed).choice(WORDS, size=20 + 40 * seed).tolist()) + "."
    for seed in range(5)
]
"""20 to 180 tokens: the longest need three windows of 100."""

MakeStudy = Callable[..., Path]


@pytest.fixture
def make_study(
    tmp_path: Path,
    tiny_folder: Path,
    settings: Settings,  # noqa: F811 - the fixture
    monkeypatch: pytest.MonkeyPatch,
) -> MakeStudy:
    """Write a study file with changes and ingest its texts."""
    monkeypatch.setenv("CALIBRARY_SCORING_BATCH_CHARACTERS", "600")
    monkeypatch.setenv("CALIBRARY_SCORING_BATCH_TOKENS", "256")
    (tmp_path / "texts.jsonl").write_text(
        "".join(json.dumps({"text": text}) + "\n" for text in DOCUMENTS)
    )

    def make(**changes: Any) -> Path:
        document = {
            "study_name": "tiny_study",
            "test_sets": [{"name": "made", "path": "texts.jsonl"}],
            "language_models": [{"name": "tiny", "weights": str(tiny_folder)}],
            "scoring": {"window_tokens": 100, "overlap_tokens": 30},
        } | changes
        path = tmp_path / "study.yml"
        path.write_text(yaml.safe_dump(document))
        ingest_study(settings, load_study(path))
        return path

    return make
