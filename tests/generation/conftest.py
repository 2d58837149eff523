"""A study that generates with a tiny language model, ingested and ready."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows.ingest_stages import ingest_study
from flows.settings import Settings, load_settings, prepare_home
from flows.study import load_study
from tests.language_models.tiny_language_model import WORDS

PROMPTS = [" ".join(WORDS[start : start + 3 + 2 * start]) for start in range(5)]

MakeStudy = Callable[..., Path]


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    # A flow reads the settings of its machine itself, from the environment.
    monkeypatch.setenv("CALIBRARY_GENERATION_BATCH_SIZE", "4")
    monkeypatch.setenv("CALIBRARY_DEVICE", "cpu")
    made = load_settings(tmp_path / "home")
    prepare_home(made)
    return made


@pytest.fixture
def make_study(tmp_path: Path, tiny_folder: Path, settings: Settings) -> MakeStudy:
    """Write a study file with changes, and ingest its human stories where that is still to do."""
    (tmp_path / "stories.jsonl").write_text(
        "".join(
            json.dumps({"prompt_id": f"p{place}", "prompt": prompt, "text": f"{text} {place}"})
            + "\n"
            for place, prompt in enumerate(PROMPTS)
            for text in ("A story of one kind", "Another story of another kind")
        )
    )

    def make(**changes: Any) -> Path:
        document = {
            "study_name": "tiny_study",
            "stories": [{"path": "stories.jsonl"}],
            "stories_per_prompt": 2,
            "minimum_prompt_characters": 1,
            "minimum_story_tokens": 1,
            "tokenizer_name": "packaged:all-minilm-l6-v2",
            "language_models": [{"name": "tiny", "weights": str(tiny_folder)}],
            "decoding_strategies": ["temperature_1.2", "top_k_5"],
            "generation": {"samples_per_prompt": 3, "maximum_story_tokens": 12, "seed": 1},
        } | changes
        path = tmp_path / "study.yml"
        path.write_text(yaml.safe_dump(document))
        ingest_study(settings, load_study(path))
        return path

    return make
