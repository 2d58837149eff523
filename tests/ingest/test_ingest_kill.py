"""A process killed anywhere in an ingest, and run again, leaves what an undisturbed run leaves."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.ingest.ingest_inputs import raw_state, rows, write_jsonl
from warehouse.connection import open_warehouse

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    rng = random.Random(5)  # noqa: S311 - sample text, not a secret
    prompts = [{"prompt_id": i, "prompt": f"Prompt number {i}"} for i in range(12)]
    write_jsonl(folder / "p.jsonl", prompts)
    stories = [
        {"prompt_id": rng.randrange(14), "text": f"Story {i % 220} " + "word " * rng.randrange(40)}
        for i in range(250)
    ]
    write_jsonl(folder / "s.jsonl", stories + stories[:9])
    generations = [
        {
            "prompt": f"Prompt number {i % 12}",
            "model": "toy",
            "strategy": f"s{i % 2}",
            "sample_index": i // 24 % 14,
            "text": f"Text {i} " + "word " * rng.randrange(40),
        }
        for i in range(250)
    ]
    write_jsonl(folder / "g.jsonl", generations + generations[:5])
    header = "prompt_id,story_source_name,semantic_diversity,lexical_diversity,syntactic_diversity"
    lines = [f"{i},human,0.{i:03d},0.5,1" for i in range(300)]
    (folder / "v.csv").write_text("\n".join([header, *lines]))
    return folder


def test_killing_and_running_again_gives_the_same_rows(tmp_path: Path, inputs: Path) -> None:
    finished = subprocess.run(
        [sys.executable, "-m", "tests.ingest.kill_driver", str(inputs), str(tmp_path)],
        cwd=ROOT,
        env=os.environ | {"TOKENIZERS_PARALLELISM": "false"},
        stdout=subprocess.PIPE,
        check=True,
    )
    for kind, signals in json.loads(finished.stdout).items():
        # What an earlier run finished is not written again: the last points may lie past the end.
        assert signals[:4] == [signal.SIGKILL] * 4, kind
        with open_warehouse(tmp_path / f"{kind}-undisturbed.duckdb", read_only=True) as connection:
            expected = raw_state(connection)
        with open_warehouse(tmp_path / f"{kind}-disturbed.duckdb", read_only=True) as connection:
            assert raw_state(connection) == expected
            assert rows(connection, "select distinct status from raw.ingests") == [("done",)]
