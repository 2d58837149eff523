"""The console script's door: Ctrl-C during the imports is answered like any later one."""

from __future__ import annotations

import sys

INTERRUPTED = "interrupted; what was finished is kept, the same command resumes."


def main() -> None:
    """Run the console script: exit code 0 done, 1 failed, 2 wrong usage."""
    try:
        from flows.cli import run_cli

        code = run_cli(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write(f"calibrary: {INTERRUPTED}\n")
        code = 1
    sys.exit(code)
