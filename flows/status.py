"""What is done, what is missing, what was rejected and why."""

from __future__ import annotations

from typing import Any

import duckdb

from flows.settings import Settings
from warehouse.connection import open_snapshot, open_warehouse, snapshot_path, work_path
from warehouse.errors import WarehouseLockedError, WarehouseMissingError
from warehouse.measurements import Feature, missing_cuts

_INPUTS = """
select file_name, ingest_kind, status, row_count
from raw.ingests
where study_name = $study_name
order by started_at, ingest_id
"""

_STORIES = """
select
    stories.story_source_name,
    stories.status,
    count(*) as story_count,
    count(*) filter (where story_selections.story_id is not null) as selected_count
from raw.stories as stories
inner join raw.ingests as ingests on stories.ingest_id = ingests.ingest_id
left join raw.studies as studies on stories.study_name = studies.study_name
left join raw.story_selections as story_selections
    on stories.study_name = story_selections.study_name
    and stories.story_id = story_selections.story_id
    and studies.selection_id = story_selections.selection_id
where stories.study_name = $study_name and ingests.status = 'done'
group by 1, 2
order by 1, 2
"""

_IS_UNSELECTED = """
select count(*) > 0
from raw.studies as studies
inner join raw.stories as stories on studies.study_name = stories.study_name
inner join raw.ingests as ingests on stories.ingest_id = ingests.ingest_id
where studies.study_name = $study_name
    and studies.selection_id is null
    and stories.story_kind = 'human'
    and ingests.status = 'done'
"""

_TEST_SETS = """
select
    test_set_texts.test_set_name,
    count(*) as document_count,
    count(distinct scored.language_model_name) as language_model_count
from raw.test_set_texts as test_set_texts
inner join raw.ingests as ingests on test_set_texts.ingest_id = ingests.ingest_id
left join raw.scorings as scored
    on test_set_texts.study_name = scored.study_name
    and test_set_texts.test_set_name = scored.test_set_name
where test_set_texts.study_name = $study_name and ingests.status = 'done'
group by 1
order by 1
"""

_SCORINGS = """
select
    scorings.test_set_name,
    scorings.language_model_name,
    ingests.status,
    coalesce(sum(scored_documents.token_count), 0) as token_count,
    coalesce(sum(scored_documents.rejected_count), 0) as rejected_count
from raw.scorings as scorings
inner join raw.ingests as ingests on scorings.ingest_id = ingests.ingest_id
inner join raw.scored_documents as scored_documents
    on scorings.scoring_id = scored_documents.scoring_id
where scorings.study_name = $study_name and ingests.status <> 'superseded'
    and (ingests.status = 'running' or scored_documents.document_index is not null)
group by 1, 2, 3
order by 1, 2
"""

_REJECTS = """
select rejects.reject_kind, rejects.reason, count(*) as reject_count, min(rejects.detail) as example
from raw.rejects as rejects
left join raw.ingests as ingests on rejects.ingest_id = ingests.ingest_id
left join raw.studies as studies on rejects.study_name = studies.study_name
where rejects.study_name = $study_name
    and (ingests.status = 'done' or rejects.selection_id = studies.selection_id)
group by 1, 2
order by 3 desc, 2
"""

_VECTORS = """
select count(*)
from raw.diversity_vectors as diversity_vectors
inner join raw.ingests as ingests on diversity_vectors.ingest_id = ingests.ingest_id
where diversity_vectors.study_name = $study_name and ingests.status = 'done'
"""

_RUNS = """
select command, study_name, started_at, status, detail
from raw.runs
-- The latest five, and every command that has failed since it last succeeded.
qualify row_number() over (order by started_at desc) <= 5
    or (
        status <> 'done'
        and row_number() over (partition by command, study_name order by started_at desc) = 1
    )
order by started_at desc
"""

_DERIVED_REJECTS = """
select study_name, reject_kind, reason, count(*) as reject_count, min(detail) as example
from fct_rejects
where reason in ('missing_sample', 'empty_sample', 'failed_sample', 'measured_here')
group by 1, 2, 3
order by 1, 4 desc, 3
"""
"""Rejects that follow from the rows of a study; dbt finds them."""


INPUT_STATES = {
    "done": "",
    "running": " UNFINISHED: ingest it again",
    "superseded": " superseded: the study now asks for it in another way",
}

_UNGENERATED = """
with

written as (

    select ingest_id, prompt_id, count(*) as story_count
    from raw.stories
    where study_name = $study_name
    group by 1, 2

)

select coalesce(sum(greatest(
    generation_requests.samples_per_prompt - coalesce(written.story_count, 0), 0
)), 0)
from raw.generation_requests as generation_requests
inner join raw.ingests as ingests on generation_requests.ingest_id = ingests.ingest_id
left join written
    on generation_requests.ingest_id = written.ingest_id
    and generation_requests.prompt_id = written.prompt_id
where generation_requests.study_name = $study_name and ingests.status = 'done'
"""


def read_status(settings: Settings) -> dict[str, Any]:
    """Return the state of the home as plain lists and mappings.

    While another process writes, its state cannot be read: ``busy`` then says who it is, and only
    the published snapshot is described.
    """
    status: dict[str, Any] = {
        "home": str(settings.home),
        "busy": None,
        "studies": [],
        "runs": [],
        "snapshot": _snapshot(settings),
    }
    try:
        with open_warehouse(work_path(settings.home), read_only=True) as connection:
            names = connection.execute("select study_name from raw.studies order by 1").fetchall()
            status["studies"] = [_study(connection, str(name)) for (name,) in names]
            status["runs"] = _records(connection, _RUNS, {})
    except WarehouseLockedError as error:
        status["busy"] = str(error)
    except WarehouseMissingError:
        pass
    return status


def status_text(status: dict[str, Any]) -> str:
    """Return `read_status` as lines for reading."""
    lines = [f"Home: {status['home']}"]
    if status["busy"]:
        lines.append(f"Busy: {status['busy']}")
    elif not status["studies"]:
        lines.append("No study yet: `calibrary run` runs the shipped one.")
    for study in status["studies"]:
        lines += _study_lines(study)
    for run in status["runs"]:
        if run["status"] != "done":
            where = f" ({run['study_name']})" if run["study_name"] else ""
            lines.append(
                f"Run {run['command']}{where} of {run['started_at']:%Y-%m-%d %H:%M} UTC: "
                f"{run['status']}: {run['detail']}"
            )
    snapshot = status["snapshot"]
    if snapshot is None:
        lines.append("Snapshot: none published yet.")
    else:
        lines.append(
            f"Snapshot: {snapshot['path']}, published {snapshot['published_at']:%Y-%m-%d %H:%M} UTC"
        )
        lines += [
            f"  by then, {entry['study_name']}: {entry['reject_count']:,} "
            f"{entry['reject_kind']} {entry['reason']} (as: {entry['example']})"
            for entry in snapshot["rejects"]
        ]
    return "\n".join(lines)


def _study(connection: duckdb.DuckDBPyConnection, name: str) -> dict[str, Any]:
    bound = {"study_name": name}
    vectors = connection.execute(_VECTORS, bound).fetchone()
    unselected = connection.execute(_IS_UNSELECTED, bound).fetchall()
    return {
        "study_name": name,
        "inputs": _records(connection, _INPUTS, bound),
        "stories": _records(connection, _STORIES, bound),
        "has_unselected_stories": bool(unselected[0][0]),
        "imported_vector_count": 0 if vectors is None else int(vectors[0]),
        "test_sets": _records(connection, _TEST_SETS, bound),
        "scorings": _records(connection, _SCORINGS, bound),
        "rejects": _records(connection, _REJECTS, bound),
        "ungenerated": int(connection.execute(_UNGENERATED, bound).fetchall()[0][0]),
        "unmeasured": {
            feature.value: len(missing_cuts(connection, name, feature)) for feature in Feature
        },
    }


def _study_lines(study: dict[str, Any]) -> list[str]:
    lines = [f"Study {study['study_name']}"]
    for entry in study["inputs"]:
        rows = "" if entry["row_count"] is None else f", {entry['row_count']:,} records"
        state = INPUT_STATES[entry["status"]]
        if entry["ingest_kind"] == "scored_tokens" and entry["status"] == "running":
            state = " UNFINISHED: score it again"
        lines.append(f"  input {entry['file_name']} ({entry['ingest_kind']}{rows}){state}")
    for entry in study["stories"]:
        chosen = f", {entry['selected_count']:,} selected" if entry["selected_count"] else ""
        lines.append(
            f"  stories {entry['story_source_name']} {entry['status']}: "
            f"{entry['story_count']:,}{chosen}"
        )
    if study["has_unselected_stories"]:
        lines.append("  stories not selected: ingest them again")
    if study["imported_vector_count"]:
        lines.append(f"  imported vectors: {study['imported_vector_count']:,}")
    for entry in study["test_sets"]:
        scorers = entry["language_model_count"]
        state = f"scored by {scorers:,}" if scorers else "not scored: `calibrary score` scores it"
        lines.append(
            f"  test set {entry['test_set_name']}: {entry['document_count']:,} texts, {state}"
        )
    for entry in study["scorings"]:
        state = "" if entry["status"] == "done" else ", so far"
        lines.append(
            f"  scored {entry['test_set_name']} by {entry['language_model_name']}: "
            f"{int(entry['token_count']):,} tokens{state}"
        )
    lines += [
        f"  rejected {entry['reject_kind']} {entry['reason']}: {entry['reject_count']:,} "
        f"(as: {entry['example']})"
        for entry in study["rejects"]
    ]
    if study["ungenerated"]:
        lines.append(f"  still to generate: {study['ungenerated']:,} stories")
    waiting = ", ".join(f"{count:,} {name}" for name, count in study["unmeasured"].items() if count)
    lines.append(f"  still to measure: {waiting}" if waiting else "  measured: all")
    return lines


def _snapshot(settings: Settings) -> dict[str, Any] | None:
    path = snapshot_path(settings.home)
    if not path.exists():
        return None
    with open_snapshot(settings.home) as connection:
        connection.execute("set search_path = 'marts'")
        newest = connection.execute("select max(published_at) from dim_publications").fetchone()
        rejects = _records(connection, _DERIVED_REJECTS, {})
    return {
        "path": str(path),
        "published_at": None if newest is None else newest[0],
        "rejects": rejects,
    }


def _records(
    connection: duckdb.DuckDBPyConnection, sql: str, bound: dict[str, str]
) -> list[dict[str, Any]]:
    records: list[dict[str, Any]] = connection.execute(sql, bound).to_arrow_table().to_pylist()
    return records
