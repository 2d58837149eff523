"""A process killed anywhere in an ingest, and run again, leaves what an undisturbed run leaves."""

from __future__ import annotations

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.ingest.ingest_inputs import TOKENIZER, raw_state, rows, write_jsonl
from warehouse.connection import open_warehouse

ROOT = Path(__file__).resolve().parents[2]
KILLED_AT = {"stories": (0.3, 0.6, 0.85), "generations": (0.6,), "vectors": (0.7,)}
"""Shares of an undisturbed run's time; the selection is the last part of reading stories."""

PROGRAM = f"""
import sys
from pathlib import Path
from flows.corpora import records
from flows import ingest_selection
records.BLOCK_BYTES = 2_000  # many batches, so that a kill falls between and inside them
ingest_selection.TOKEN_BATCH_BYTES = 4_000
from flows.corpora.layouts import GenerationsLayout, StoriesLayout, VectorsLayout
from flows.ingest_generations import ingest_generations
from flows.ingest_stories import ingest_stories
from flows.ingest_vectors import ingest_diversity_vectors
from flows.study import StudySettings
from warehouse.connection import open_warehouse

folder, kind = Path(sys.argv[1]), sys.argv[3]
settings = StudySettings(
    study_name="killed", stories_per_prompt=3, prompt_count=9, minimum_prompt_characters=1,
    minimum_story_tokens=1, tokenizer_name="{TOKENIZER}",
)
print("ready", flush=True)
with open_warehouse(Path(sys.argv[2])) as connection:
    if kind == "stories":
        layout = StoriesLayout(str(folder / "s.jsonl"), prompts=str(folder / "p.jsonl"))
        ingest_stories(connection, settings, layout)
    elif kind == "generations":
        ingest_generations(connection, settings, GenerationsLayout(str(folder / "g.jsonl")))
    else:
        ingest_diversity_vectors(connection, settings, VectorsLayout(str(folder / "v.csv")))
"""


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    rng = random.Random(5)  # noqa: S311 - sample text, not a secret
    prompts = [{"prompt_id": i, "prompt": f"Prompt number {i}"} for i in range(12)]
    write_jsonl(folder / "p.jsonl", prompts)
    stories = [
        {"prompt_id": rng.randrange(14), "text": f"Story {i % 350} " + "word " * rng.randrange(40)}
        for i in range(400)
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
        for i in range(400)
    ]
    write_jsonl(folder / "g.jsonl", generations + generations[:5])
    header = "prompt_id,story_source_name,semantic_diversity,lexical_diversity,syntactic_diversity"
    lines = [f"{i},human,0.{i:03d},0.5,1" for i in range(300)]
    (folder / "v.csv").write_text("\n".join([header, *lines]))
    return folder


def start(inputs: Path, work_file: Path, kind: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(inputs), str(work_file), kind],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
    )


def run_to_the_end(inputs: Path, work_file: Path, kind: str) -> float:
    """Return the seconds from the first write to the end."""
    with start(inputs, work_file, kind) as process:
        assert process.stdout is not None
        process.stdout.readline()
        started = time.perf_counter()
    assert process.returncode == 0
    return time.perf_counter() - started


@pytest.mark.parametrize("kind", KILLED_AT)
def test_killing_and_running_again_gives_the_same_rows(
    tmp_path: Path, inputs: Path, kind: str
) -> None:
    undisturbed, disturbed = tmp_path / "undisturbed.duckdb", tmp_path / "disturbed.duckdb"
    seconds = run_to_the_end(inputs, undisturbed, kind)
    killed = 0
    for share in KILLED_AT[kind]:
        with start(inputs, disturbed, kind) as process:
            assert process.stdout is not None
            process.stdout.readline()
            time.sleep(seconds * share)
            process.kill()
        killed += process.returncode != 0
    assert killed > 0
    run_to_the_end(inputs, disturbed, kind)
    with open_warehouse(undisturbed, read_only=True) as connection:
        expected = raw_state(connection)
    with open_warehouse(disturbed, read_only=True) as connection:
        assert raw_state(connection) == expected
        assert rows(connection, "select distinct status from raw.ingests") == [("done",)]
