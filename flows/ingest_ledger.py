"""What every kind of ingest shares: its row in the ledger, its rejects and its report.

An ingest is ``running`` until its last row is written. Killed anywhere, it is read again from the
start: rows already there stay as they are, so it ends as if it had never been interrupted.
"""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

import duckdb
import orjson
import pyarrow as pa

from flows.study import StudySettings
from udfs.errors import CalibraryError
from udfs.identity import content_id
from warehouse.connection import checkpoint
from warehouse.migrations import utc_now
from warehouse.schema import arrow_schema, ingests, rejects, studies
from warehouse.writers import upsert

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Progress = Callable[[int, int], None]
"""Called after each batch with the records and the bytes of input files just done."""

BULK_SETTINGS = {
    "checkpoint_threshold": "512MB",
    "force_compression": "uncompressed",
    "threads": "1",
}

PATH_OPTIONS = frozenset({"path", "prompts", "access"})
"""Where an input lies and how it is reached does not change what it says."""


@dataclass(frozen=True)
class IngestReport:
    """What an ingest did."""

    ingest_id: str
    is_new: bool
    """False where the same input was already there whole."""
    row_count: int
    """Records read."""
    inserted_count: int
    """Ledger rows (vectors: vectors) written by this call."""
    reject_counts: Mapping[str, int] = field(default_factory=dict)
    """Rejects of this ingest, and for stories of the study's selection, per reason."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Ingest:
    """One input being read into one study."""

    ingest_id: str
    study_name: str
    kind: str
    file_name: str
    content_sha256: str
    options_json: str


class Input(Protocol):
    """An opened input: what it is called and what is in it."""

    @property
    def file_names(self) -> tuple[str, ...]:
        """Base names, or a data set id."""

    @property
    def content_sha256(self) -> str:
        """Fingerprint of its bytes."""


@dataclass(frozen=True)
class Reject:
    """One record that is left out, and why."""

    kind: str
    reason: str
    detail: str
    file_name: str
    line_number: int
    prompt_id: str | None = None
    story_id: str | None = None


def register_study(connection: duckdb.DuckDBPyConnection, settings: StudySettings) -> None:
    """Write the study's row where it is new or a setting differs; its selection stays."""
    values = settings.model_dump(mode="json")
    row = {
        **values,
        "settings_json": orjson.dumps(values, option=orjson.OPT_SORT_KEYS).decode(),
        "selection_id": None,
    }
    row = {column.name: row.get(column.name) for column in studies.columns}
    changing = [name for name in row if name not in {"study_name", "selection_id"}]
    upsert(connection, studies, [row], update=changing)


def describe_ingest(
    settings: StudySettings,
    kind: str,
    layout: DataclassInstance,
    source: Input,
) -> Ingest:
    """Return the identity of reading *source* into a study by *layout*."""
    options = {
        name: value
        for name, value in asdict(layout).items()
        if name not in PATH_OPTIONS and value is not None
    }
    options_json = orjson.dumps(options, option=orjson.OPT_SORT_KEYS).decode()
    return Ingest(
        content_id("ingest", settings.study_name, kind, options_json, source.content_sha256),
        settings.study_name,
        kind,
        " + ".join(source.file_names),
        source.content_sha256,
        options_json,
    )


def done_row_count(connection: duckdb.DuckDBPyConnection, ingest: Ingest) -> int | None:
    """Return the records read by *ingest* if it is done, else None."""
    row = connection.execute(
        "select row_count from raw.ingests where ingest_id = $id and status = 'done'",
        {"id": ingest.ingest_id},
    ).fetchone()
    return None if row is None else int(row[0])


def earlier_version_notes(connection: duckdb.DuckDBPyConnection, ingest: Ingest) -> list[str]:
    """Return a note where a file of the same name with other bytes is in the study already."""
    row = connection.execute(
        "select count(*) from raw.ingests where study_name = $study_name and ingest_kind = $kind "
        "and file_name = $file_name and content_sha256 <> $content_sha256 and status = 'done'",
        {
            "study_name": ingest.study_name,
            "kind": ingest.kind,
            "file_name": ingest.file_name,
            "content_sha256": ingest.content_sha256,
        },
    ).fetchone()
    if row is None or not row[0]:
        return []
    return [
        f"another version of {ingest.file_name} is in {ingest.study_name} already, and its records "
        "stay beside the new ones; for a study of this version alone, give another --name"
    ]


class SecondReadingError(CalibraryError):
    """The bytes of an input are in the study already, read with other options."""


def refuse_second_reading(connection: duckdb.DuckDBPyConnection, ingest: Ingest) -> None:
    """Refuse bytes that the study has read with other options: both readings would count.

    Raises
    ------
    SecondReadingError
        The sentence shows the options that differ.
    """
    rows = connection.execute(
        "select options_json from raw.ingests where study_name = $study_name "
        "and ingest_kind = $kind and content_sha256 = $content_sha256 and ingest_id <> $ingest_id "
        "and status = 'done' order by started_at",
        {
            "study_name": ingest.study_name,
            "kind": ingest.kind,
            "content_sha256": ingest.content_sha256,
            "ingest_id": ingest.ingest_id,
        },
    ).fetchall()
    if rows:
        raise SecondReadingError(
            f"an input must be read in one way, {ingest.study_name} has read {ingest.file_name} "
            f"with {_options(rows[0][0], ingest.options_json)}, now it is "
            f"{_options(ingest.options_json, rows[0][0])}; its rows would count twice: give "
            "another --name."
        )


def _options(options_json: str, other_json: str) -> str:
    """Return what *options_json* says that *other_json* does not."""
    given, other = orjson.loads(options_json), orjson.loads(other_json)
    differing = [f"{name} {value!r}" for name, value in given.items() if other.get(name) != value]
    return ", ".join(differing) or "no such option"


def begin_ingest(connection: duckdb.DuckDBPyConnection, ingest: Ingest) -> None:
    """Write the row ``running``, where this is the first start."""
    row = {
        "ingest_id": ingest.ingest_id,
        "study_name": ingest.study_name,
        "ingest_kind": ingest.kind,
        "file_name": ingest.file_name,
        "content_sha256": ingest.content_sha256,
        "options_json": ingest.options_json,
        "status": "running",
        "row_count": None,
        "started_at": utc_now(),
        "finished_at": None,
    }
    upsert(connection, ingests, [row])


def finish_ingest(connection: duckdb.DuckDBPyConnection, ingest: Ingest, row_count: int) -> None:
    """Make the rows of *ingest* count."""
    columns = ", ".join(column.name for column in ingests.columns)
    rows = connection.execute(
        f"select {columns} from raw.ingests where ingest_id = $id",  # noqa: S608 - our columns
        {"id": ingest.ingest_id},
    ).fetchall()
    row = dict(zip((column.name for column in ingests.columns), rows[0], strict=True))
    row |= {"status": "done", "row_count": row_count, "finished_at": utc_now()}
    upsert(connection, ingests, [row], update=["status", "row_count", "finished_at"])
    checkpoint(connection)


def write_rejects(
    connection: duckdb.DuckDBPyConnection, ingest: Ingest, found: Sequence[Reject]
) -> None:
    """Write *found*, each under the identity of its place and reason."""
    if not found:
        return
    rows: list[dict[str, Any]] = [
        {
            "reject_id": content_id(
                "reject", ingest.ingest_id, reject.reason, reject.file_name, reject.line_number
            ),
            "study_name": ingest.study_name,
            "reject_kind": reject.kind,
            "reason": reject.reason,
            "detail": reject.detail,
            "prompt_id": reject.prompt_id,
            "story_id": reject.story_id,
            "file_name": reject.file_name,
            "line_number": reject.line_number,
            "ingest_id": ingest.ingest_id,
            "selection_id": None,
        }
        for reject in found
    ]
    upsert(connection, rejects, arrow_rows(rejects, rows))


def arrow_rows(table: Any, rows: Iterable[Mapping[str, Any]]) -> pa.Table:
    """Return *rows* as an Arrow table in the column types of *table*."""
    listed = list(rows)
    schema = arrow_schema(table)
    return pa.table(
        {field.name: pa.array([row[field.name] for row in listed], field.type) for field in schema}
    )


def ingest_reject_counts(connection: duckdb.DuckDBPyConnection, ingest: Ingest) -> Counter[str]:
    """Return the rejects of *ingest* per reason."""
    rows = connection.execute(
        "select reason, count(*) from raw.rejects where ingest_id = $id group by reason",
        {"id": ingest.ingest_id},
    ).fetchall()
    return Counter({str(reason): int(count) for reason, count in rows})


@dataclass(frozen=True)
class KnownCopy:
    """A record whose ledger row another record brought first."""

    story_id: str
    prompt_id: str
    file_name: str
    line_number: int
    known_file_name: str
    known_line_number: int
    has_same_text: bool


def known_copies(
    connection: duckdb.DuckDBPyConnection, ingest: Ingest, rows: pa.Table
) -> list[KnownCopy]:
    """Return the *rows* of the ledger that are there already from another place, in file order.

    Read again after a kill, a record finds its own row, which is no copy.
    """
    connection.register("calibrary_records", rows)
    try:
        found = connection.execute(
            """
            select
                records.story_id,
                records.prompt_id,
                records.file_name,
                records.line_number,
                coalesce(stories.file_name, 'this warehouse'),
                coalesce(stories.line_number, 0),
                records.text_id is not distinct from stories.text_id
            from calibrary_records as records
            inner join raw.stories as stories on records.story_id = stories.story_id
            where stories.study_name = $study_name
                and (
                    records.file_name is distinct from stories.file_name
                    or records.line_number is distinct from stories.line_number
                    -- An edited file has the same place with another text.
                    or records.text_id is distinct from stories.text_id
                )
            order by records.file_name, records.line_number
            """,
            {"study_name": ingest.study_name},
        ).fetchall()
    finally:
        connection.unregister("calibrary_records")
    return [KnownCopy(*row) for row in found]


@contextlib.contextmanager
def bulk_loading(connection: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Let the write-ahead log grow, and store texts as they are, while an input streams in.

    By default DuckDB folds the log into the file every 16 MB and rewrites the unfinished row group
    of texts (some 300 MB) each time; choosing a compression for texts costs as much as all else;
    and further threads of DuckDB's own only get in the way of the two that run ahead
    (`flows.ingest_pipeline`).
    """
    before = {
        name: connection.execute("select current_setting($name)", {"name": name}).fetchall()[0][0]
        for name in BULK_SETTINGS
    }
    _set(connection, BULK_SETTINGS)
    try:
        yield
        checkpoint(connection)
    finally:
        _set(connection, before)


def _set(connection: duckdb.DuckDBPyConnection, settings: Mapping[str, object]) -> None:
    for name in BULK_SETTINGS:
        connection.execute(f"set {name} = $value", {"value": str(settings[name])})
