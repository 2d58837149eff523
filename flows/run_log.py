"""The row a stage leaves in ``raw.runs``: only when it changed something."""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

import duckdb

from flows.provenance import code_commit, package_versions_json
from udfs.errors import CalibraryError
from warehouse.migrations import utc_now
from warehouse.schema import runs
from warehouse.writers import upsert


@dataclass
class RecordedRun:
    """A stage in progress; `begin` it before its first write."""

    connection: duckdb.DuckDBPyConnection
    command: str
    study_name: str | None
    row: dict[str, object] = field(default_factory=dict)

    def begin(self, started_at: datetime | None = None) -> None:
        """Write the row ``running``; a second call does nothing.

        Parameters
        ----------
        started_at : datetime, optional
            UTC without a zone; now where not given.
        """
        if self.row:
            return
        self.row = {
            "run_id": uuid.uuid4().hex,
            "command": self.command,
            "study_name": self.study_name,
            "started_at": started_at or utc_now(),
            "finished_at": None,
            "status": "running",
            "detail": None,
            "code_commit": code_commit(),
            "package_versions_json": package_versions_json(),
        }
        upsert(self.connection, runs, [self.row])

    def end(self, status: str, detail: str) -> None:
        """Close the row, where there is one."""
        if self.row:
            self.row |= {"status": status, "detail": detail, "finished_at": utc_now()}
            upsert(self.connection, runs, [self.row], update=["status", "detail", "finished_at"])


@contextlib.contextmanager
def recorded_run(
    connection: duckdb.DuckDBPyConnection, command: str, study_name: str | None
) -> Iterator[RecordedRun]:
    """Follow one stage; how it ends is written down, and an error goes on.

    The work file has one writer, so a row that still says ``running`` now was left by a process
    that was killed: it becomes ``interrupted``, with no time of ending.
    """
    connection.execute(
        "update raw.runs set status = 'interrupted', detail = 'the process was killed' "
        "where status = 'running'"
    )
    run = RecordedRun(connection, command, study_name)
    try:
        yield run
    except CalibraryError as error:
        _end_quietly(run, "failed", str(error))
        raise
    except BaseException as error:
        # Prefect raises its own, no `Exception`, when the process is told to terminate.
        is_stop = not isinstance(error, Exception) or "interrupted" in str(error)
        _end_quietly(run, "interrupted" if is_stop else "failed", type(error).__name__)
        raise
    else:
        if run.row and run.row["status"] == "running":
            run.end("done", "done")


def _end_quietly(run: RecordedRun, status: str, detail: str) -> None:
    """The first error is the one to show: the row stays ``running`` where it cannot be written."""
    with contextlib.suppress(duckdb.Error, CalibraryError):
        run.end(status, detail)
