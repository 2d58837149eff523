"""Ingest in child processes that are killed at chosen writes: run by ``test_ingest_kill``.

Arguments: folder of inputs, folder of work files. Prints the signals of each kind as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from flows import ingest_selection
from flows.corpora import records
from flows.corpora.layouts import GenerationsLayout, StoriesLayout, VectorsLayout
from flows.ingest_generations import ingest_generations
from flows.ingest_stories import ingest_stories
from flows.ingest_vectors import ingest_diversity_vectors
from flows.study import StudySettings
from warehouse import writers
from warehouse.connection import open_warehouse

KILL_COUNT = 4
KINDS = ("stories", "generations", "vectors")


class Dying:
    """A connection whose transaction is never committed: the process is killed instead."""

    def __init__(self, connection: Any) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def commit(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)


def run_child(folder: Path, work_file: Path, kind: str, kill_at: int | None) -> tuple[int, int]:
    """Return the signal that ended the child, and the writes it made (only if it lived)."""
    counted = work_file.with_suffix(".count")
    pid = os.fork()
    if pid == 0:
        write, count = writers._execute, 0

        def counting(connection: Any, *rest: Any) -> int:
            nonlocal count
            count += 1
            if count == kill_at and count % 2:
                os.kill(os.getpid(), signal.SIGKILL)
            return write(Dying(connection) if count == kill_at else connection, *rest)

        writers._execute = counting
        ingest(folder, work_file, kind)
        counted.write_text(str(count))
        os._exit(0)
    _, status = os.waitpid(pid, 0)
    if os.WIFSIGNALED(status):
        return os.WTERMSIG(status), 0
    assert os.WEXITSTATUS(status) == 0, "the child failed"
    return 0, int(counted.read_text())


def ingest(folder: Path, work_file: Path, kind: str) -> None:
    records.BLOCK_BYTES = 4_000
    ingest_selection.TOKEN_BATCH_BYTES = 8_000
    settings = StudySettings(
        study_name="killed",
        stories_per_prompt=3,
        prompt_count=9,
        minimum_prompt_characters=1,
        minimum_story_tokens=1,
        tokenizer_name="packaged:all-minilm-l6-v2",
    )
    with open_warehouse(work_file) as connection:
        if kind == "stories":
            layout = StoriesLayout(str(folder / "s.jsonl"), prompts=str(folder / "p.jsonl"))
            ingest_stories(connection, settings, layout)
        elif kind == "generations":
            ingest_generations(connection, settings, GenerationsLayout(str(folder / "g.jsonl")))
        else:
            ingest_diversity_vectors(connection, settings, VectorsLayout(str(folder / "v.csv")))


def main() -> None:
    folder, work_folder = Path(sys.argv[1]), Path(sys.argv[2])
    signals = {}
    for kind in KINDS:
        _, write_count = run_child(folder, work_folder / f"{kind}-undisturbed.duckdb", kind, None)
        # The first write, evenly spread ones, ever later, and the last.
        steps = max(write_count // KILL_COUNT, 1)
        points = [*range(1, write_count, steps), write_count]
        disturbed = work_folder / f"{kind}-disturbed.duckdb"
        signals[kind] = [run_child(folder, disturbed, kind, point)[0] for point in points]
        run_child(folder, disturbed, kind, None)
    print(json.dumps(signals))


if __name__ == "__main__":
    main()
