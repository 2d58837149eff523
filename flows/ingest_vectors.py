"""Read ready diversity vectors into a study: all of them agree, or none enters."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

import duckdb

from flows.corpora.errors import InvalidVectorError
from flows.corpora.layouts import AXES, VectorsLayout
from flows.corpora.selection import FEWEST_PROMPTS
from flows.corpora.vector_inputs import HUMAN, DiversityVector, VectorInput, open_vectors
from flows.ingest_ledger import (
    Ingest,
    IngestReport,
    Progress,
    arrow_rows,
    begin_ingest,
    describe_ingest,
    done_row_count,
    earlier_version_notes,
    finish_ingest,
    refuse_second_reading,
    register_study,
)
from flows.ingest_prompts import AmbiguousPromptError, PromptWriter, prompt_rows, study_prompts
from flows.study import StudySettings
from warehouse.schema import diversity_vectors
from warehouse.writers import BATCH_ROWS, adopt


def ingest_diversity_vectors(
    connection: duckdb.DuckDBPyConnection,
    settings: StudySettings,
    layout: VectorsLayout,
    progress: Progress | None = None,
) -> IngestReport:
    """Read the vectors that *layout* names into the study.

    A vector given twice enters once; a prompt that the study knows by its id is that prompt.

    Raises
    ------
    CalibraryError
        A value is missing, not a number or outside [0, 1]; two lines contradict each other, or a
        vector that the study has; or there are fewer than four prompts. Nothing enters then.
    """
    source = open_vectors(layout)
    ingest = describe_ingest(settings, "diversity_vectors", layout, source)
    row_count = done_row_count(connection, ingest)
    if row_count is not None:
        register_study(connection, settings)
        return IngestReport(ingest.ingest_id, False, row_count, 0, notes=source.notes)
    refuse_second_reading(connection, ingest)
    row_count, vectors = _agreeing_vectors(source, progress)
    prompt_ids = _prompt_ids(connection, settings.study_name, vectors)
    # Two ids may be those of one prompt, so the vectors must agree once more by prompt.
    vectors = _distinct(
        replace(vector, source_prompt_id=prompt_ids[vector.source_prompt_id]) for vector in vectors
    )
    _check_against_study(connection, ingest, vectors)
    begin_ingest(connection, ingest)
    PromptWriter(connection, ingest).write(
        prompt_rows(
            ingest,
            list(prompt_ids.values()),
            list(prompt_ids),
            [None] * len(prompt_ids),
        )
    )
    inserted = 0
    for start in range(0, len(vectors), BATCH_ROWS):
        rows = arrow_rows(
            diversity_vectors,
            [_row(ingest, vector) for vector in vectors[start : start + BATCH_ROWS]],
        )
        inserted += adopt(connection, diversity_vectors, rows)
    register_study(connection, settings)
    finish_ingest(connection, ingest, row_count)
    notes = (*source.notes, *earlier_version_notes(connection, ingest))
    return IngestReport(ingest.ingest_id, True, row_count, inserted, notes=notes)


def _agreeing_vectors(
    source: VectorInput, progress: Progress | None
) -> tuple[int, list[DiversityVector]]:
    """Return the records read, and every distinct vector once, in the order of the file."""
    found: list[DiversityVector] = []
    record_count = 0
    for batch in source.read_vectors():
        found += batch.vectors
        record_count += batch.record_count
        if progress is not None:
            progress(batch.record_count, batch.byte_count)
    return record_count, _distinct(found)


def _distinct(vectors: Iterable[DiversityVector]) -> list[DiversityVector]:
    """Return every vector once, the first of equal ones; refuse two that contradict each other."""
    first: dict[tuple[str, str], DiversityVector] = {}
    for vector in vectors:
        known = first.setdefault((vector.source_prompt_id, vector.story_source_name), vector)
        where = f"line {known.line_number} of {known.file_name}"
        if known.values != vector.values:
            raise _disagreement(vector, known, where)
        if known.story_count != vector.story_count:
            raise InvalidVectorError(
                f"a vector must have one story count, prompt {vector.source_prompt_id!r} of "
                f"{vector.story_source_name} has {known.story_count} on {where} and "
                f"{vector.story_count} on line {vector.line_number} of {vector.file_name}; "
                "keep one of them."
            )
    return list(first.values())


def _disagreement(
    vector: DiversityVector, known: DiversityVector, where: str
) -> InvalidVectorError:
    axis = next(i for i in range(len(AXES)) if known.values[i] != vector.values[i])
    return InvalidVectorError(
        f"a prompt must have one vector per story source, prompt {vector.source_prompt_id!r} of "
        f"{vector.story_source_name} has {AXES[axis]} {known.values[axis]!r} on {where} and "
        f"{vector.values[axis]!r} on line {vector.line_number} of {vector.file_name}; "
        "keep one of them."
    )


def _prompt_ids(
    connection: duckdb.DuckDBPyConnection, study_name: str, vectors: Sequence[DiversityVector]
) -> dict[str, str]:
    """Return the prompt of every id: the study's own where one has it, else the id."""
    known = study_prompts(connection, study_name)
    found: dict[str, str] = {}
    for vector in vectors:
        candidates = known.get(vector.source_prompt_id, [])
        if len(candidates) > 1:
            raise AmbiguousPromptError(
                f"a prompt id must stand for one prompt, {vector.source_prompt_id!r} on line "
                f"{vector.line_number} of {vector.file_name} is that of {len(candidates)} prompts "
                "of the study; give every prompt an id of its own, under a new name."
            )
        found[vector.source_prompt_id] = candidates[0] if candidates else vector.source_prompt_id
    return found


def _check_against_study(
    connection: duckdb.DuckDBPyConnection, ingest: Ingest, vectors: Sequence[DiversityVector]
) -> None:
    rows = connection.execute(
        f"select vectors.prompt_id, vectors.story_source_name, vectors.file_name, "  # noqa: S608
        f"vectors.line_number, {', '.join(f'vectors.{axis}' for axis in AXES)} "
        "from raw.diversity_vectors as vectors "
        "inner join raw.ingests as ingests on vectors.ingest_id = ingests.ingest_id "
        "where vectors.study_name = $name and ingests.status = 'done'",
        {"name": ingest.study_name},
    ).fetchall()
    known = {(row[0], row[1]): row for row in rows}
    for vector in vectors:
        row = known.get((vector.source_prompt_id, vector.story_source_name))
        if row is not None and tuple(row[4:]) != vector.values:
            before = replace(vector, values=tuple(row[4:]))
            raise _disagreement(vector, before, f"line {row[3]} of {row[2]}, ingested before,")
    prompts = {vector.source_prompt_id for vector in vectors} | {row[0] for row in rows}
    if len(prompts) < FEWEST_PROMPTS:
        raise InvalidVectorError(
            f"diversity vectors must cover at least {FEWEST_PROMPTS} prompts, got {len(prompts)} "
            f"in {ingest.file_name}; a credal set in three dimensions has four corners at least."
        )


def _row(ingest: Ingest, vector: DiversityVector) -> dict[str, object]:
    return {
        "study_name": ingest.study_name,
        "prompt_id": vector.source_prompt_id,
        "story_source_name": vector.story_source_name,
        **dict(zip(AXES, vector.values, strict=True)),
        "story_kind": HUMAN if vector.story_source_name == HUMAN else "generated",
        "language_model_name": vector.language_model_name,
        "decoding_strategy_name": vector.decoding_strategy_name,
        "sampling_temperature": vector.sampling_temperature,
        "story_count": vector.story_count,
        "file_name": vector.file_name,
        "line_number": vector.line_number,
        "ingest_id": ingest.ingest_id,
    }
