"""Item 7 of 100 filings: ``python -m tests.benchmarks.filings FOLDER``.

The files of a folder, over and over until there are enough, one at a time. Memory is flat where
the peak after all of them is that after each was read once.
"""

from __future__ import annotations

import argparse
import itertools
import resource
import time
from collections import Counter
from pathlib import Path

from flows.corpora.filings import filing_section

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "edgar" / "raw_10k"


def main() -> None:
    """Read, and print seconds, memory and statuses."""
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=Path, nargs="?", default=FOLDER)
    parser.add_argument("--filings", type=int, default=100)
    arguments = parser.parse_args()
    paths = sorted(path for path in arguments.folder.glob("*") if path.is_file())
    if not paths:
        print(f"no filings in {arguments.folder}: nothing measured")
        return
    statuses: Counter[str] = Counter()
    peaks = []
    wall, cpu = time.perf_counter(), time.process_time()
    for path in itertools.islice(itertools.cycle(paths), arguments.filings):
        statuses[filing_section(path).item_7_status.value] += 1
        peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    once = peaks[min(len(paths), len(peaks)) - 1]
    print(
        f"{arguments.filings} filings ({len(paths)} files) in {wall:.1f} s ({cpu:.1f} s of CPU): "
        f"{dict(statuses)}"
    )
    print(f"peak memory: {once:.0f} MB after each file once, {peaks[-1]:.0f} MB at the end")


if __name__ == "__main__":
    main()
