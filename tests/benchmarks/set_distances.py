"""Set distances in SQL against a loop over pairs: ``python -m tests.benchmarks.set_distances``.

500 prompts x 21 story sources x 10 stories of 300 words (about 180 distinct ones) lie in a DuckDB
file, one row per story. The UDF answers for all sets at once, as the dbt models ask; the loop over
pairs of Python sets, conversion of lists to sets included, answers for a sample of them and is
scaled up. Both must agree on that sample.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import duckdb
import numpy as np
import pyarrow as pa

from udfs.registry import register_all

VOCABULARY_SIZE = 20_000
ZIPF_SHIFT = 0.6
"""Word k is drawn in proportion to 1/(k + shift): some 180 distinct words in 300."""

Result = TypeVar("Result")


def word_lists(story_count: int, word_count: int, seed: int) -> pa.Array:
    """Return the distinct words of *story_count* random stories, as ``list<string>``."""
    rng = np.random.default_rng(seed)
    weights = 1 / (np.arange(VOCABULARY_SIZE) + ZIPF_SHIFT)
    drawn = rng.choice(VOCABULARY_SIZE, size=(story_count, word_count), p=weights / weights.sum())
    drawn.sort(axis=1)
    is_new = np.ones(drawn.shape, dtype=np.bool_)
    is_new[:, 1:] = drawn[:, 1:] != drawn[:, :-1]
    vocabulary = pa.array([f"word{code:05d}" for code in range(VOCABULARY_SIZE)])
    offsets = np.concatenate([[0], np.cumsum(is_new.sum(axis=1))]).astype(np.int32)
    return pa.ListArray.from_arrays(pa.array(offsets), vocabulary.take(pa.array(drawn[is_new])))


def loop_over_pairs(item_sets: Sequence[Sequence[str]]) -> float:
    """Mean pairwise Jaccard distance with Python sets."""
    sets = [set(items) for items in item_sets]
    distances = [
        1 - len(first & second) / len(first | second)
        for first, second in itertools.combinations(sets, 2)
    ]
    return sum(distances) / len(distances)


def fill(connection: duckdb.DuckDBPyConnection, set_count: int, stories_per_set: int) -> None:
    """Write the stories in batches, so that making them takes little memory."""
    connection.execute("create table stories (set_id integer, story_id integer, words varchar[])")
    batch = 500
    for start in range(0, set_count, batch):
        sets = min(batch, set_count - start)
        ids = np.arange(sets * stories_per_set, dtype=np.int32)
        table = pa.table(
            {
                "set_id": start + ids // stories_per_set,
                "story_id": ids % stories_per_set,
                "words": word_lists(len(ids), 300, seed=start),
            }
        )
        connection.register("incoming", table)
        connection.execute("insert into stories select * from incoming")
        connection.unregister("incoming")


def main() -> None:
    """Run both and print seconds, memory and the ratio."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--prompts", type=int, default=500)
    parser.add_argument("--sources", type=int, default=21)
    parser.add_argument("--stories", type=int, default=10)
    parser.add_argument("--sample", type=int, default=500, help="sets given to the Python loop")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    set_count = arguments.prompts * arguments.sources
    with tempfile.TemporaryDirectory() as folder:
        connection = duckdb.connect(str(Path(folder) / "stories.duckdb"))
        connection.execute(f"set threads = {int(arguments.threads)}")
        connection.execute("set memory_limit = '2GB'")
        register_all(connection)
        fill(connection, set_count, arguments.stories)
        row = connection.execute("select count(*), avg(len(words)) from stories").fetchone()
        print(f"stories: {row[0]}, distinct words each: {row[1]:.0f}")  # type: ignore[index]
        _compare(connection, set_count, min(arguments.sample, set_count))
        connection.close()


@dataclass(frozen=True)
class Cost:
    """Seconds of one way of doing it: on the clock, and of all threads together."""

    wall_seconds: float
    cpu_seconds: float

    def __str__(self) -> str:
        return f"{self.wall_seconds:.1f} s ({self.cpu_seconds:.1f} s of CPU)"


def timed(work: Callable[[], Result]) -> tuple[Result, Cost]:
    """Return what *work* returns, and its cost."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, Cost(time.perf_counter() - wall, time.process_time() - cpu)


def _compare(connection: duckdb.DuckDBPyConnection, set_count: int, sample: int) -> None:
    gather = (
        "select sum(len(words)) from "
        "(select list(words order by story_id) as words from stories group by set_id)"
    )
    measure = (
        "select set_id, mean_pairwise_jaccard_distance(list(words order by story_id)) "
        "from stories group by set_id"
    )
    before = _peak_megabytes()
    _, gathering = timed(lambda: connection.execute(gather).fetchall())
    found, in_sql = timed(lambda: dict(connection.execute(measure).fetchall()))
    peak = _peak_megabytes()
    lists = connection.execute(
        "select set_id, list(words order by story_id) from stories where set_id < ? group by 1",
        [sample],
    ).fetchall()
    expected, in_loop = timed(lambda: {key: loop_over_pairs(item_sets) for key, item_sets in lists})
    scale = set_count / sample
    scaled = Cost(in_loop.wall_seconds * scale, in_loop.cpu_seconds * scale)
    farthest = max(abs(found[key] - value) for key, value in expected.items())
    if len(found) != set_count or farthest > 1e-12:
        raise SystemExit(f"the two disagree: {len(found)} sets, up to {farthest:g} apart")
    print(f"sets: {set_count}, in SQL: {in_sql}; gathering the lists alone: {gathering}")
    print(f"peak memory of the process: {peak:.0f} MB ({before:.0f} MB before)")
    print(f"loop over pairs of Python sets, scaled from {sample} sets: {scaled}")
    print(
        f"ratio: {scaled.wall_seconds / in_sql.wall_seconds:.1f} on the clock, "
        f"{scaled.cpu_seconds / in_sql.cpu_seconds:.1f} of CPU; {farthest:.0e} apart at most"
    )


def _peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
