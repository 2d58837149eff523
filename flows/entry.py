"""The console script's door: Ctrl-C during the imports is answered like any later one."""

from __future__ import annotations

import signal
import sys

INTERRUPTED = "interrupted; what was finished is kept, the same command resumes."


def main() -> None:
    """Run the console script: exit code 0 done, 1 failed, 2 wrong usage."""
    held: list[int] = []
    answer = signal.getsignal(signal.SIGINT)
    if answer is not signal.SIG_IGN:
        # Libraries crash where they are interrupted in the middle of being loaded.
        signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        from flows.cli import run_cli

        signal.signal(signal.SIGINT, answer)
        if held:
            raise KeyboardInterrupt
        code = run_cli(sys.argv[1:])
    except KeyboardInterrupt:
        sys.stderr.write(f"calibrary: {INTERRUPTED}\n")
        code = 1
    # The command has answered: Ctrl-C while the interpreter takes its leave changes nothing more.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    sys.exit(code)
