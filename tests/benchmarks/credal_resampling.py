"""How long the uncertainty of all comparisons takes: 300 replicates and 300 splits of 500 prompts.

Run by ``python -m tests.benchmarks.credal_resampling``; the target for the whole diversity side is
under 60 s on 2 cores and under 2 GB. Both are compared in CPU time: other work on the machine moves
the clock. The same measures by a plain scipy loop, configuration by
configuration and draw by draw, are timed in the same run on a sample of the draws and scaled.
"""

from __future__ import annotations

import argparse
import resource
import time

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog
from scipy.spatial import ConvexHull, HalfspaceIntersection
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr, wasserstein_distance

from udfs.resampled_overlaps import bootstrap_overlaps, split_half_overlaps
from udfs.resampling import bootstrap_rows

PROMPTS, CONFIGURATIONS, DRAWS = 500, 20, 300
FRAME_UNITS = np.array([[1.0, 1.0, 1.0], [15.0, 50.0, 40.0], [12.0, 60.0, 30.0]])
"""Raw and two z frames, as sds of diversities are."""

Points = NDArray[np.float64]


def made_up_sets(configurations: int) -> list[Points]:
    """Human points and those of *configurations*, normal clouds that overlap more or less."""
    rng = np.random.default_rng(1)
    return [
        rng.normal(size=(PROMPTS, 3)) * 0.05 + rng.normal(size=3) * 0.02
        for _ in range(configurations + 1)
    ]


def resample(sets: list[Points], draws: int) -> float:
    """Return the CPU seconds that all draws of all comparisons take, on both sets of axes."""
    human, *sources = sets
    started = time.process_time()
    for axes in (2, 3):
        units = FRAME_UNITS[:, :axes]
        for source in sources:
            pair = human[:, :axes], source[:, :axes]
            bootstrap_overlaps(*pair, units, draws, 1)
            split_half_overlaps(*pair, units, draws, 2)
            split_half_overlaps(pair[0], pair[0], units, draws, 2)
    return time.process_time() - started


def scipy_loop(sets: list[Points], draws: int) -> float:
    """Return the CPU seconds of the plain loop: one frame, without exact Hausdorff distances."""
    human, *sources = sets
    started = time.process_time()
    for axes in (2, 3):
        for source in sources:
            for rows in bootstrap_rows(PROMPTS, draws, 1):
                plain_comparison(human[rows, :axes], source[rows, :axes])
    return time.process_time() - started


def plain_comparison(human: Points, source: Points) -> dict[str, float]:
    """One comparison as a reader of scipy's manual would write it."""
    first, second = ConvexHull(human), ConvexHull(source)
    distances = cdist(human[first.vertices], source[second.vertices])
    half_spaces = np.vstack([first.equations, second.equations])
    lengths = np.linalg.norm(half_spaces[:, :-1], axis=1)
    costs = np.append(np.zeros(human.shape[1]), -1.0)
    ball = linprog(
        costs,
        A_ub=np.column_stack([half_spaces[:, :-1], lengths]),
        b_ub=-half_spaces[:, -1],
        bounds=[(None, None)] * human.shape[1] + [(0, None)],
    )
    shared = 0.0
    if ball.success and ball.x[-1] > 1e-9:
        corners = HalfspaceIntersection(half_spaces, ball.x[:-1]).intersections
        shared = ConvexHull(corners).volume
    axes = list(zip(human.T, source.T, strict=True))
    return {
        "iou": shared / (first.volume + second.volume - shared),
        "hausdorff_vertex_distance": max(distances.min(axis=0).max(), distances.min(axis=1).max()),
        "wasserstein_mean": float(np.mean([wasserstein_distance(*pair) for pair in axes])),
        "rank_correlation": float(np.mean([spearmanr(*pair).statistic for pair in axes])),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sample", type=int, default=5, help="draws that the plain loop makes")
    sample = parser.parse_args().sample
    sets = made_up_sets(CONFIGURATIONS)
    started = time.perf_counter()
    seconds = resample(sets, DRAWS)
    wall_seconds = time.perf_counter() - started
    megabytes = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{CONFIGURATIONS} configurations, {DRAWS} replicates and splits: {seconds:.1f} s of CPU")
    print(f"on the clock: {wall_seconds:.1f} s, on one core")
    print(f"peak memory of the process: {megabytes:.0f} MB")
    print(f"half the draws: {resample(sets, DRAWS // 2):.1f} s")
    print(f"half the configurations: {resample(sets[: CONFIGURATIONS // 2 + 1], DRAWS):.1f} s")
    # The bootstrap and the splits of the story source: two comparisons a draw.
    plain = 2 * scipy_loop(sets, sample) * DRAWS / sample
    print(
        f"plain scipy loop, scaled from {sample} draws: {plain:.0f} s, {plain / seconds:.1f} times"
    )


if __name__ == "__main__":
    main()
