"""One row per sample of a set: a second request for the same place in it is rejected.

Two requests that differ in seed, revision, quantization or template are two rows of the ledger.
Under one story source name and sample index they would be counted as two stories of one set.
"""

from __future__ import annotations

from dataclasses import dataclass

import duckdb
import pyarrow as pa

from flows.ingest_ledger import Ingest, Reject

_TAKEN = """
select
    records.story_id,
    any_value(stories.file_name) as known_file_name,
    any_value(stories.line_number) as known_line_number
from calibrary_records as records
inner join raw.stories as stories
    on records.prompt_id = stories.prompt_id
    and records.story_source_name = stories.story_source_name
    and records.sample_index = stories.sample_index
    and records.story_id <> stories.story_id
inner join raw.ingests as ingests on stories.ingest_id = ingests.ingest_id
where stories.study_name = $study_name
    and (ingests.status = 'done' or ingests.ingest_id = $ingest_id)
group by records.story_id
"""


@dataclass(frozen=True)
class SortedSamples:
    """The rows that may enter the ledger, and the rejects of the others."""

    rows: pa.Table
    rejects: list[Reject]


def without_taken_samples(
    connection: duckdb.DuckDBPyConnection, ingest: Ingest, rows: pa.Table
) -> SortedSamples:
    """Leave out the *rows* whose place in their set another request holds; the first stays.

    A place is (prompt, story source, sample index). Earlier rows of the same ingest hold theirs
    too, so reading a file again after a kill leaves out the same rows.
    """
    connection.register("calibrary_records", rows)
    try:
        found = connection.execute(
            _TAKEN, {"study_name": ingest.study_name, "ingest_id": ingest.ingest_id}
        ).fetchall()
    finally:
        connection.unregister("calibrary_records")
    holders = {story_id: (file_name, line) for story_id, file_name, line in found}
    names = (
        "story_id", "prompt_id", "story_source_name", "sample_index", "file_name", "line_number",
    )  # fmt: skip
    columns = zip(*(rows.column(name).to_pylist() for name in names), strict=True)
    first: dict[tuple[str, str, int], tuple[str, str, int]] = {}
    kept, rejects = [], []
    for story_id, prompt_id, source, index, file_name, line in columns:
        holder = holders.get(story_id)
        if holder is None:
            holding, *where = first.setdefault(
                (prompt_id, source, index), (story_id, file_name, line)
            )
            holder = None if holding == story_id else (where[0], where[1])
        kept.append(holder is None)
        if holder is not None:
            rejects.append(
                Reject(
                    "sample",
                    "duplicate_sample",
                    f"Sample {index} of {source} is on line {holder[1]} of {holder[0]} already, "
                    "with another seed, revision, quantization or template, and that one stays.",
                    file_name,
                    line,
                    prompt_id=prompt_id,
                    story_id=story_id,
                )
            )
    return SortedSamples(rows.filter(pa.array(kept)), rejects)
