"""Build the marts with dbt in this process and publish them as a new snapshot."""

from __future__ import annotations

import contextlib
import io
import json
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from flows.provenance import DBT_PROJECT
from flows.settings import Settings
from flows.study import DEFINITION_VERSION
from udfs.errors import CalibraryError
from warehouse.connection import open_warehouse, require_work_file, work_path

MART_SCHEMA = "marts"


class BuildFailedError(CalibraryError):
    """dbt could not build, or a test of the built tables failed."""


@dataclass(frozen=True)
class BuiltRelation:
    """A contracted mart of this very build: what may be published."""

    schema_name: str
    table_name: str
    description: str


def run_dbt(settings: Settings, *arguments: str) -> Any:
    """Run one dbt command on the work file; the caller must have closed its own connection.

    Paths are absolute, since dbt follows the working directory. The profile keeps the file open
    from node to node; its lock is given back when this returns.

    Raises
    ------
    BuildFailedError
        A node failed: the sentence names the first failed nodes and the log file.
    """
    from dbt.adapters.duckdb.connections import DuckDBConnectionManager
    from dbt.cli.main import dbtRunner

    require_work_file(settings.home)
    # Migrates an older file, and refuses a newer or locked one with a sentence.
    with open_warehouse(work_path(settings.home)):
        pass
    log_folder = settings.dbt_folder / "logs"
    command = [
        "--log-level",
        "none",
        "--log-level-file",
        "info",
        "--log-path",
        str(log_folder),
        *arguments,
        "--project-dir",
        str(DBT_PROJECT),
        "--profiles-dir",
        str(DBT_PROJECT),
        "--target-path",
        str(settings.dbt_folder / "target"),
        "--vars",
        json.dumps({"definition_version": DEFINITION_VERSION}),
    ]
    with _environment(settings), contextlib.redirect_stdout(io.StringIO()):
        try:
            outcome = dbtRunner().invoke(command)
        finally:
            DuckDBConnectionManager.close_all_connections()
    if isinstance(outcome.exception, KeyboardInterrupt):
        raise outcome.exception
    if not outcome.success:
        raise BuildFailedError(_failure_sentence(outcome, log_folder / "dbt.log"))
    return outcome


def build_marts(settings: Settings) -> tuple[BuiltRelation, ...]:
    """Run ``dbt build`` and return the marts it made, in name order.

    The list comes from the manifest of this build, never from what lies in the file: a killed dbt
    leaves ``…__dbt_tmp`` and ``…__dbt_backup`` tables behind.
    """
    run_dbt(settings, "build", "--quiet")
    manifest = json.loads((settings.dbt_folder / "target" / "manifest.json").read_bytes())
    relations = [
        BuiltRelation(node["schema"], node["alias"], node["description"])
        for node in manifest["nodes"].values()
        if node["resource_type"] == "model" and node["schema"] == MART_SCHEMA
    ]
    return tuple(sorted(relations, key=lambda relation: relation.table_name))


def build_docs(settings: Settings) -> Path:
    """Write the dbt docs of the work file as one static page and return its path."""
    run_dbt(settings, "docs", "generate", "--static")
    return settings.dbt_folder / "target" / "static_index.html"


@contextlib.contextmanager
def _environment(settings: Settings) -> Iterator[None]:
    """Hand dbt's profile the work file and the memory limit, for this call only."""
    given = {
        "CALIBRARY_WORK_PATH": str(work_path(settings.home)),
        "CALIBRARY_MEMORY_LIMIT": settings.memory_limit,
    }
    before = {name: os.environ.get(name) for name in given}
    os.environ.update(given)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _failure_sentence(outcome: Any, log_path: Path) -> str:
    if outcome.exception is not None:
        reason = " ".join(str(outcome.exception).split())
        return f"the build must succeed, dbt said: {reason}; details in {log_path}."
    failed: Sequence[Any] = [
        result for result in outcome.result or () if result.status in {"error", "fail"}
    ]
    names = ", ".join(
        f"{result.node.name} ({' '.join(str(result.message).split())})" for result in failed[:3]
    )
    more = f" and {len(failed) - 3} more" if len(failed) > 3 else ""
    return (
        f"every model and test must pass, {len(failed)} failed: {names}{more}; "
        f"the published snapshot is unchanged; details in {log_path}."
    )
