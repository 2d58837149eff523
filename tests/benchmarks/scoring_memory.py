"""Peak memory of scoring beside the bare loop's: ``python -m tests.benchmarks.scoring_memory``.

Each figure is of a process of its own and begins when the weights are loaded, since loading takes
more than scoring does. Few texts, four times as many, and some four times as long must cost the
same.
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.benchmarks.token_scoring import loaded, score_barely

MOST_BYTES = 500_000_000
"""Above the bare loop."""

MOST_GROWTH = 50_000_000
"""What the allocator may keep: a quarter of one window's log-softmax."""

TEXTS, TIMES = 2, 4
CASES = {
    "bare": f"bare loop over {TEXTS} windows",
    "few": f"scoring {TEXTS} texts of a window",
    "many": f"scoring {TEXTS * TIMES} texts of a window",
    "long": f"scoring {TEXTS} texts of {TIMES} windows",
}
PROCESS = Path("/proc/self")


def measure(case: str) -> int:
    """Return the highest resident memory of *case* after loading, in bytes."""
    found = loaded()
    texts = found.texts(TEXTS * (TIMES if case == "many" else 1), TIMES if case == "long" else 1)
    (PROCESS / "clear_refs").write_text("5")  # the peak so far is forgotten
    if case == "bare":
        for text in texts:
            score_barely(found.model, found.window_ids(text))
    else:
        found.scorer.score(texts)
    lines = (PROCESS / "status").read_text().splitlines()
    (peak,) = (line for line in lines if line.startswith("VmHWM:"))
    return int(peak.split()[1]) * 1024


def main() -> int:
    if len(sys.argv) > 1:
        sys.stdout.write(f"{measure(sys.argv[1])}\n")
        return 0
    if not (PROCESS / "clear_refs").exists():
        sys.stdout.write("only Linux forgets a peak; nothing measured\n")
        return 0
    peaks = {}
    for case, name in CASES.items():
        command = [sys.executable, "-m", "tests.benchmarks.scoring_memory", case]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        peaks[case] = int(done.stdout.split()[-1])
        above = peaks[case] - peaks["bare"]
        sys.stdout.write(f"{name}: peak {peaks[case] / 1e6:,.0f} MB ({above / 1e6:+,.0f} MB)\n")
    scored = [peaks[case] for case in CASES if case != "bare"]
    is_small = max(scored) - peaks["bare"] <= MOST_BYTES
    return 0 if is_small and max(scored) - scored[0] <= MOST_GROWTH else 1


if __name__ == "__main__":
    sys.exit(main())
