"""Build the marts, and publish them if the build is green; do neither if nothing changed."""

from __future__ import annotations

import uuid
from dataclasses import dataclass
from datetime import datetime

import duckdb

from flows.build import BuiltRelation, build_marts
from flows.progress import REPORTER
from flows.provenance import build_code_id, code_commit, package_versions_json
from flows.published_figures import record_figures
from flows.run_log import recorded_run
from flows.settings import Settings
from udfs.errors import CalibraryError
from warehouse.connection import (
    open_snapshot,
    open_warehouse,
    require_work_file,
    snapshot_path,
    work_path,
)
from warehouse.migrations import utc_now
from warehouse.publish import publish
from warehouse.readers import raw_state_id
from warehouse.schema import publications
from warehouse.writers import upsert


class NothingToBuildError(CalibraryError):
    """The work file holds no rows that a mart could show."""


@dataclass(frozen=True)
class BuildReport:
    """What was built and published; nothing where the snapshot was current."""

    is_new: bool
    snapshot: str
    relations: tuple[BuiltRelation, ...]

    def as_record(self) -> dict[str, object]:
        """Return it as JSON has it."""
        names = [relation.table_name for relation in self.relations]
        return {"is_new": self.is_new, "snapshot": self.snapshot, "tables": names}

    def as_text(self) -> str:
        """Return it as a sentence."""
        if not self.is_new:
            return f"Nothing new to build: {self.snapshot} is current."
        return f"Built and published {len(self.relations)} tables to {self.snapshot}."


def snapshot_is_current(settings: Settings, connection: duckdb.DuckDBPyConnection) -> bool:
    """Say whether the snapshot was built from these raw rows by this code."""
    published = _published_id(settings)
    row = connection.execute(
        "select raw_state_id, build_code_id from raw.publications "
        "where publication_id = $publication_id",
        {"publication_id": published},
    ).fetchone()
    return row == (raw_state_id(connection), build_code_id())


def build_and_publish(settings: Settings) -> BuildReport:
    """Run dbt on the work file and replace the snapshot when every model and test passed.

    The row in ``raw.publications`` is written before the build, so that the marts show it; if the
    build fails, or is killed and comes again, it is taken back: a publication that no snapshot
    carries never happened.

    Raises
    ------
    BuildFailedError
        The published snapshot is then unchanged.
    NothingToBuildError
        There are no studies yet.
    """
    require_work_file(settings.home)
    started_at = utc_now()
    path = work_path(settings.home)
    with open_warehouse(path, memory_limit=settings.memory_limit) as connection:
        row = connection.execute("select count(*) from raw.studies").fetchone()
        if row is None or row[0] == 0:
            raise NothingToBuildError(
                f"a build needs at least one study in {path}, found none; "
                "run `calibrary run` or `calibrary ingest` first."
            )
        if snapshot_is_current(settings, connection):
            return BuildReport(False, str(snapshot_path(settings.home)), ())
        _settle_earlier_builds(settings, connection)
        publication_id = _announce(connection)
    REPORTER.get().note("Building the marts with dbt …")
    try:
        relations = build_marts(settings)
        target = publish(
            settings.home,
            [(relation.schema_name, relation.table_name) for relation in relations],
            memory_limit=settings.memory_limit,
        )
    except BaseException as error:
        with open_warehouse(path) as connection:
            _forget(connection, publication_id)
            if isinstance(error, CalibraryError):
                _record(connection, started_at, "failed", str(error))
            else:
                _record(connection, started_at, "interrupted", type(error).__name__)
        raise
    with open_warehouse(path) as connection:
        _mark_published(settings, connection, publication_id)
        _record(connection, started_at, "done", f"{len(relations)} tables published")
    return BuildReport(True, str(target), relations)


def _record(
    connection: duckdb.DuckDBPyConnection, started_at: datetime, status: str, detail: str
) -> None:
    """Write the row of a build that ended; dbt had the file while it ran."""
    with recorded_run(connection, "build", None) as run:
        run.begin(started_at)
        run.end(status, detail)


def _announce(connection: duckdb.DuckDBPyConnection) -> str:
    publication_id = uuid.uuid4().hex
    upsert(
        connection,
        publications,
        [
            {
                "publication_id": publication_id,
                "published_at": utc_now(),
                "raw_state_id": raw_state_id(connection),
                "build_code_id": build_code_id(),
                "code_commit": code_commit(),
                "status": "building",
                "package_versions_json": package_versions_json(),
            }
        ],
    )
    return publication_id


def _published_id(settings: Settings) -> str | None:
    """Return the newest publication that the snapshot itself carries."""
    if not snapshot_path(settings.home).exists():
        return None
    with open_snapshot(settings.home) as connection:
        try:
            row = connection.execute(
                "select publication_id from marts.dim_publications order by published_at desc"
            ).fetchone()
        except duckdb.CatalogException:
            return None
    return None if row is None else str(row[0])


def _settle_earlier_builds(settings: Settings, connection: duckdb.DuckDBPyConnection) -> None:
    """Take back the rows of builds that were killed before their snapshot appeared.

    One that was killed just after is in the snapshot: it did happen.
    """
    published = _published_id(settings)
    if published is not None:
        _mark_published(settings, connection, published)
    killed = connection.execute(
        "select published_at from raw.publications where status = 'building'"
    ).fetchall()
    for (announced_at,) in killed:
        _record(connection, announced_at, "interrupted", "the process was killed")
    connection.execute("delete from raw.publications where status = 'building'")


def _mark_published(
    settings: Settings, connection: duckdb.DuckDBPyConnection, publication_id: str
) -> None:
    """Say that *publication_id* is the snapshot, and keep its figures for the next to compare with.

    The figures come first: a kill between the two is made good by `_settle_earlier_builds`.
    """
    record_figures(settings, connection, publication_id)
    connection.execute(
        "update raw.publications set status = 'published' where publication_id = $publication_id",
        {"publication_id": publication_id},
    )


def _forget(connection: duckdb.DuckDBPyConnection, publication_id: str) -> None:
    connection.execute(
        "delete from raw.publications where publication_id = $publication_id",
        {"publication_id": publication_id},
    )
