"""Write the report of a home's published snapshot."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import duckdb

from flows.report.errors import ReportNotWritableError, UnknownReportStudyError
from flows.report.page import rendered_page
from flows.report.tables import read_tables
from warehouse.connection import open_snapshot, snapshot_path
from warehouse.files import is_own_file

PAGE_NAME = "report.html"


@dataclass(frozen=True)
class WrittenReport:
    """Where the page lies, which studies it shows, and its size in bytes."""

    page: Path
    study_names: tuple[str, ...]
    byte_count: int

    def as_record(self) -> dict[str, object]:
        """Return it as JSON has it."""
        return {
            "page": str(self.page),
            "study_names": list(self.study_names),
            "byte_count": self.byte_count,
        }

    def as_text(self) -> str:
        """Return it as a sentence."""
        studies = "study" if len(self.study_names) == 1 else "studies"
        return (
            f"Report of {len(self.study_names)} {studies} written to {self.page} "
            f"({self.byte_count / 1e6:.1f} MB)."
        )


def write_report(
    home: Path, study_names: list[str] | None = None, output: Path | None = None
) -> WrittenReport:
    """Draw *study_names*, or every study, of the snapshot of *home* as one HTML page.

    The page lies at *output*, by default beside the snapshot, and replaces an older one only when
    it is whole.

    Raises
    ------
    WarehouseMissingError
        Nothing has been published yet.
    UnknownReportStudyError
        A study that was asked for is not in the snapshot.
    ReportNotWritableError
        The page cannot be written there.
    """
    if output is not None and is_own_file(home, output):
        raise ReportNotWritableError(
            f"a report must not replace a file of the warehouse, got {output}; name another file "
            "with --output."
        )
    with open_snapshot(home) as connection:
        connection.execute("set search_path = 'marts'")
        connection.execute("set timezone = 'UTC'")
        chosen = _chosen_studies(connection, study_names)
        tables = read_tables(connection, chosen)
    page = rendered_page(tables, chosen).encode()
    target = snapshot_path(home).with_name(PAGE_NAME) if output is None else output
    _write(target, page)
    return WrittenReport(target, tuple(chosen), len(page))


def _chosen_studies(
    connection: duckdb.DuckDBPyConnection, study_names: list[str] | None
) -> list[str]:
    rows = connection.execute("select study_name from dim_studies order by study_name").fetchall()
    published = [str(row[0]) for row in rows]
    if not study_names:
        return published
    for name in study_names:
        if name not in published:
            raise UnknownReportStudyError(
                f"a study of the report must be in the snapshot, got {name!r}; it holds "
                f"{', '.join(published) or 'none'}: name one of them with --study."
            )
    return list(dict.fromkeys(study_names))


def _write(target: Path, page: bytes) -> None:
    part = target.with_name(target.name + ".part")
    try:
        part.write_bytes(page)
        part.replace(target)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise ReportNotWritableError(
            f"{target} must be writable, got: {error.strerror}; name another file with --output."
        ) from None
