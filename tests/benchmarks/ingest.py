"""Speed of reading human stories: JSONL parsed, hashed and upserted, against bare parsing.

    python -m tests.benchmarks.ingest [MEGABYTES [WORDS PER STORY]]

Counting tokens and selecting come after and are timed apart. Target: 50 MB of JSONL a second. The
processor time says what a busy machine hides.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import orjson

from flows.corpora.layouts import StoriesLayout
from flows.corpora.story_inputs import open_stories
from flows.corpora.text_columns import text_columns
from flows.ingest_ledger import begin_ingest, describe_ingest
from flows.ingest_selection import count_tokens
from flows.ingest_stories import write_stories
from flows.study import StudySettings
from warehouse.connection import open_warehouse

SEED = 7
STORIES_PER_PROMPT = 12
WORDS_PER_STORY = 300
TOKENIZED_SHARE_MB = 20


def write_stories_file(path: Path, size: int, words_per_story: int = WORDS_PER_STORY) -> int:
    """Write about *size* bytes of random stories, a third of them with typographic quotes."""
    rng = np.random.default_rng(SEED)
    letters = np.array(list("etaoinshrdlucmfwypvbgk"))
    words = ["".join(rng.choice(letters, rng.integers(1, 10))) for _ in range(20_000)]
    words += [f"{word}," for word in words[:2000]] + [f"{word}.\n\n" for word in words[:1500]]
    written = story = 0
    with path.open("wb") as file:
        while written < size:
            count = int(rng.integers(words_per_story // 2, 3 * words_per_story // 2))
            text = " ".join(words[i] for i in rng.integers(0, len(words), count))
            if story % 3 == 0:
                text = f"“{text}” — she said, it’s done."
            prompt = f"A prompt about the word {words[story // STORIES_PER_PROMPT % 20_000]}, again"
            record = {"prompt_id": story // STORIES_PER_PROMPT, "prompt": prompt, "story": text}
            written += file.write(orjson.dumps(record) + b"\n")
            story += 1
    return written


def bare_parsing(path: Path) -> float:
    """Return the seconds of reading and parsing every line, and nothing else."""
    started = time.perf_counter()
    with path.open("rb") as file:
        for line in file:
            orjson.loads(line)
    return time.perf_counter() - started


def main() -> None:
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 300
    words_per_story = int(sys.argv[2]) if len(sys.argv) > 2 else WORDS_PER_STORY
    settings = StudySettings(
        study_name="benchmark", tokenizer_name="packaged:all-minilm-l6-v2", prompt_count=None
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "stories.jsonl"
        size = write_stories_file(path, megabytes * 1_000_000, words_per_story) / 1e6
        text_columns(["warm"])  # tables and imports made on the first call
        bare = bare_parsing(path)
        print(f"bare orjson loop: {size / bare:,.0f} MB/s")
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        with open_warehouse(Path(folder) / "work.duckdb") as connection:
            started, processor = time.perf_counter(), time.process_time()
            source = open_stories(StoriesLayout(str(path)))
            ingest = describe_ingest(settings, "stories", StoriesLayout(str(path)), source)
            hashed = time.perf_counter() - started
            begin_ingest(connection, ingest)
            row_count, _ = write_stories(connection, ingest, source)
            took, busy = time.perf_counter() - started, time.process_time() - processor
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(
                f"ingest of {size:,.0f} MB, {row_count:,} stories: {took:.1f} s, "
                f"{size / took:,.0f} MB/s (file fingerprint {hashed:.2f} s of it); processor "
                f"{busy:.1f} s in three threads, so at most {2 * size / busy:,.0f} MB/s on two "
                f"free cores; peak memory {peak:,.0f} MB, {before:,.0f} MB before"
            )
        part = Path(folder) / "part.jsonl"
        part_size = write_stories_file(part, TOKENIZED_SHARE_MB * 1_000_000) / 1e6
        with open_warehouse(Path(folder) / "tokens.duckdb") as connection:
            source = open_stories(StoriesLayout(str(part)))
            ingest = describe_ingest(settings, "stories", StoriesLayout(str(part)), source)
            begin_ingest(connection, ingest)
            write_stories(connection, ingest, source)
            started = time.perf_counter()
            count = count_tokens(connection, settings, ingest.ingest_id)
            took = time.perf_counter() - started
            print(f"token counts of {count:,} stories: {part_size / took:,.1f} MB/s")


if __name__ == "__main__":
    main()
