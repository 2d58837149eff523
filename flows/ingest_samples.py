"""One row per sample of a set: a second request for the same place in it is rejected.

Two requests that differ in seed, revision, quantization or template are two rows of the ledger.
Under one story source name and sample index they would be counted as two stories of one set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import duckdb
import pyarrow as pa

from flows.ingest_ledger import Ingest, Reject
from warehouse.schema import stories
from warehouse.writers import upsert

PLACE = ("prompt_id", "story_source_name", "sample_index")
"""One sample of a set."""

REQUEST: Mapping[str, str] = {
    "language_model_name": "language model",
    "decoding_strategy_name": "decoding strategy",
    "language_model_revision": "revision",
    "quantization": "quantization",
    "template_name": "template",
    "seed": "seed",
}
"""What tells two requests for one place apart, and how it is called."""

_HOLDERS = f"""
select
    records.story_id as rejected_story_id,
    stories.story_id,
    stories.file_name,
    stories.line_number,
    {", ".join(f"stories.{name}" for name in REQUEST)}
from calibrary_records as records
inner join raw.stories as stories
    on records.prompt_id = stories.prompt_id
    and records.story_source_name = stories.story_source_name
    and records.sample_index = stories.sample_index
    and records.story_id <> stories.story_id
inner join raw.ingests as ingests on stories.ingest_id = ingests.ingest_id
where stories.study_name = $study_name
    and (ingests.status = 'done' or ingests.ingest_id = $ingest_id)
-- Where a killed start of this very ingest holds the place too, the finished one is named.
qualify row_number() over (
    partition by records.story_id order by ingests.status, stories.line_number
) = 1
"""  # noqa: S608 - constant text

_LEFT_BEHIND = """
select stories.*
from calibrary_rejected as rejected
inner join raw.stories as stories on rejected.story_id = stories.story_id
where stories.study_name = $study_name and stories.ingest_id = $ingest_id
"""

NO_INGEST = "none"
"""Ingest of a row that no ingest counts: left by a killed start, its place taken since."""


@dataclass(frozen=True)
class SortedSamples:
    """The rows that may enter the ledger, and the rejects of the others."""

    rows: pa.Table
    rejects: list[Reject]


def without_taken_samples(
    connection: duckdb.DuckDBPyConnection, ingest: Ingest, rows: pa.Table
) -> SortedSamples:
    """Leave out the *rows* whose place in their set another request holds; the first stays.

    Earlier rows of the same ingest hold their places too, so reading a file again after a kill
    leaves out the same rows. A row that the killed start wrote, and whose place another ingest has
    taken since, is given up.
    """
    holders = _holders(connection, ingest, rows)
    first: dict[tuple[Any, ...], dict[str, Any]] = {}
    kept, rejects = [], []
    names = ("story_id", "file_name", "line_number", *PLACE, *REQUEST)
    for row in rows.select(names).to_pylist():
        holder = holders.get(row["story_id"])
        if holder is None:
            holder = first.setdefault(tuple(row[name] for name in PLACE), row)
        is_kept = holder["story_id"] == row["story_id"]
        kept.append(is_kept)
        if not is_kept:
            rejects.append(_reject(row, holder))
    if rejects:
        _give_up(connection, ingest, [str(reject.story_id) for reject in rejects])
    return SortedSamples(rows.filter(pa.array(kept, pa.bool_())), rejects)


def _holders(
    connection: duckdb.DuckDBPyConnection, ingest: Ingest, rows: pa.Table
) -> dict[str, dict[str, Any]]:
    """Return the ledger row that holds the place of a row, by the latter's story."""
    connection.register("calibrary_records", rows)
    try:
        found = connection.execute(
            _HOLDERS, {"study_name": ingest.study_name, "ingest_id": ingest.ingest_id}
        ).to_arrow_table()
    finally:
        connection.unregister("calibrary_records")
    return {row["rejected_story_id"]: row for row in found.to_pylist()}


def _reject(row: Mapping[str, Any], holder: Mapping[str, Any]) -> Reject:
    differing = ", ".join(
        f"{_shown(holder[name], word)}, not {_shown(row[name], word)}"
        for name, word in REQUEST.items()
        if holder[name] != row[name]
    )
    return Reject(
        "sample",
        "duplicate_sample",
        f"Sample {row['sample_index']} of {row['story_source_name']} is on line "
        f"{holder['line_number']} of {holder['file_name']} already, with {differing}; that one "
        "stays.",
        row["file_name"],
        row["line_number"],
        prompt_id=row["prompt_id"],
        story_id=row["story_id"],
    )


def _shown(value: object, word: str) -> str:
    return f"no {word}" if value is None else f"{word} {value}"


def _give_up(connection: duckdb.DuckDBPyConnection, ingest: Ingest, story_ids: list[str]) -> None:
    connection.register("calibrary_rejected", pa.table({"story_id": story_ids}))
    try:
        found = connection.execute(
            _LEFT_BEHIND, {"study_name": ingest.study_name, "ingest_id": ingest.ingest_id}
        ).to_arrow_table()
    finally:
        connection.unregister("calibrary_rejected")
    if found.num_rows:
        place = found.column_names.index("ingest_id")
        given_up = found.set_column(place, "ingest_id", pa.array([NO_INGEST] * found.num_rows))
        upsert(connection, stories, given_up, update=["ingest_id"])
