"""Progress of long work: a bar on a terminal, plain lines elsewhere, nothing when quiet."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

PLAIN_LINE_EVERY_SECONDS = 15.0

BYTES = "bytes"
"""Unit of counts that are shown as MB, 10^6 bytes."""

Advance = Callable[[int], None]


class Reporter:
    """Writes progress and notes to standard error, so that standard output stays data."""

    def __init__(self, *, quiet: bool = False) -> None:
        self.quiet = quiet
        self.console = Console(stderr=True, highlight=False, soft_wrap=True)

    def note(self, sentence: str) -> None:
        """Print one line; outside text in it is never read as markup."""
        if not self.quiet:
            self.console.print(sentence, markup=False)

    @contextmanager
    def track(self, label: str, total: int | None, unit: str) -> Iterator[Advance]:
        """Follow work of *total* units; the yielded function takes the count just done."""
        if self.quiet:
            yield lambda count: None
        elif self.console.is_terminal:
            with self._bar(label, total, unit) as advance:
                yield advance
        else:
            with self._lines(label, total, unit) as advance:
                yield advance

    @contextmanager
    def _bar(self, label: str, total: int | None, unit: str) -> Iterator[Advance]:
        started = time.monotonic()
        columns = (
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            DownloadColumn() if unit == BYTES else MofNCompleteColumn(),
            TextColumn("{task.fields[rate]}", markup=False),
            TimeElapsedColumn(),
            TimeRemainingColumn(),
        )
        with Progress(*columns, console=self.console) as progress:
            task = progress.add_task(label, total=total, rate="")
            done = 0

            def advance(count: int) -> None:
                nonlocal done
                done += count
                rate = f"{_shown(done / max(time.monotonic() - started, 1e-9), unit)}/s"
                progress.update(task, completed=done, rate=rate)

            yield advance

    @contextmanager
    def _lines(self, label: str, total: int | None, unit: str) -> Iterator[Advance]:
        started = last = time.monotonic()
        done = 0

        def advance(count: int) -> None:
            nonlocal done, last
            done += count
            now = time.monotonic()
            if now - last < PLAIN_LINE_EVERY_SECONDS or done == total:
                return
            last = now
            rate = done / (now - started)
            left = f", {(total - done) / rate:,.0f} s left" if total and rate else ""
            so_far = (
                f"{_number(done, unit)} of {_shown(total, unit)}" if total else _shown(done, unit)
            )
            self.note(f"{label}: {so_far}, {_shown(rate, unit)}/s{left}")

        yield advance
        seconds = time.monotonic() - started
        self.note(f"{label}: {_shown(done, unit)} in {seconds:,.1f} s")


def _shown(count: float, unit: str) -> str:
    return f"{_number(count, unit)} {'MB' if unit == BYTES else unit}"


def _number(count: float, unit: str) -> str:
    if unit == BYTES:
        return f"{count / 1e6:,.1f}"
    return f"{count:,}" if isinstance(count, int) else f"{count:,.1f}"


REPORTER: ContextVar[Reporter] = ContextVar("reporter", default=Reporter(quiet=True))  # noqa: B039
"""The reporter of the running command: flows take plain parameters, so that Prefect can deploy
them, and find it here."""
