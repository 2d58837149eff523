"""Read texts of language models into a study. What is missing stays missing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace

import duckdb
import pyarrow as pa

from flows.corpora.errors import SelectionError
from flows.corpora.generation_inputs import (
    GenerationBatch,
    GenerationInput,
    open_generations,
)
from flows.corpora.layouts import GenerationsLayout
from flows.corpora.selection import FEWEST_PROMPTS
from flows.corpora.text_columns import text_columns
from flows.ingest_ledger import (
    Ingest,
    IngestReport,
    KnownCopy,
    Progress,
    Reject,
    begin_ingest,
    bulk_loading,
    describe_ingest,
    done_row_count,
    earlier_version_notes,
    finish_ingest,
    ingest_reject_counts,
    known_copies,
    refuse_second_reading,
    register_study,
    write_rejects,
)
from flows.ingest_pipeline import texts_written
from flows.ingest_prompts import AmbiguousPromptError, PromptWriter, prompt_rows, study_prompts
from flows.ingest_samples import SortedSamples, without_taken_samples
from flows.study import StudySettings
from udfs.identity import content_id, prompt_id
from warehouse.schema import stories
from warehouse.writers import adopt

GENERATED = "generated"

SHORTEST_STORY_WORDS = 2
"""A generated story of fewer words has no pair of neighbours to tag: ``too_short``."""

SAMPLE_INDEX_REMEDY = "give a column of sample indexes with --sample-index-column"


def ingest_generations(
    connection: duckdb.DuckDBPyConnection,
    settings: StudySettings,
    layout: GenerationsLayout,
    progress: Progress | None = None,
) -> IngestReport:
    """Read the generations that *layout* names into the study.

    One ledger row per request; the same request twice with the same text is one row, with another
    text a reject, and the first stays.

    Raises
    ------
    CalibraryError
        The input cannot be used, or the study would have fewer than four prompts with generations.
        Nothing of this ingest counts then.
    """
    source = open_generations(layout)
    ingest = describe_ingest(settings, "generations", layout, source)
    row_count = done_row_count(connection, ingest)
    if row_count is not None:
        register_study(connection, settings)
        counts = ingest_reject_counts(connection, ingest)
        return IngestReport(ingest.ingest_id, False, row_count, 0, counts, source.notes)
    refuse_second_reading(connection, ingest)
    begin_ingest(connection, ingest)
    tally = _Tally()
    with bulk_loading(connection):
        _write_generations(connection, ingest, source, tally, progress)
    _require_prompts(connection, ingest)
    register_study(connection, settings)
    finish_ingest(connection, ingest, tally.record_count)
    return IngestReport(
        ingest.ingest_id,
        True,
        tally.record_count,
        tally.inserted_count,
        ingest_reject_counts(connection, ingest),
        (
            *source.notes,
            *earlier_version_notes(connection, ingest),
            *tally.notes(source),
        ),
    )


@dataclass
class _Tally:
    """Counts over one ingest."""

    record_count: int = 0
    inserted_count: int = 0
    repeated_count: int = 0
    assigned_count: int = 0
    assigned_rejected_count: int = 0
    """Rejected as duplicates under a sample index that the file did not give."""

    def notes(self, source: GenerationInput) -> list[str]:
        """Return what happened to records beyond entering, as sentences."""
        found = []
        if self.repeated_count:
            found.append(f"{self.repeated_count:,} records repeat another word for word: one row")
        if self.assigned_count:
            found.append(
                f"{self.assigned_count:,} records give no sample index: numbered from 0 in the "
                "order of the file, per prompt and story source"
            )
        if self.assigned_rejected_count:
            found.append(
                f"{self.assigned_rejected_count:,} of them are rejected, since numbering starts "
                f"from 0 in every input and their numbers are taken: {SAMPLE_INDEX_REMEDY}"
            )
        if source.stop_count:
            found.append(
                f"stop reason 'stop' of {source.stop_count:,} records is read as eos; it may also "
                "have been a stop string"
            )
        for name, count in sorted(source.unknown_stop_reasons.items()):
            found.append(f"stop reason {name!r} of {count:,} records is not known: left empty")
        return found


@dataclass(frozen=True)
class _PreparedGenerations:
    prompts: pa.Table
    texts: pa.Table
    stories: pa.Table
    rejects: list[Reject]
    record_count: int
    assigned_lines: frozenset[int]
    """Lines whose sample was numbered here."""
    byte_count: int


def _write_generations(
    connection: duckdb.DuckDBPyConnection,
    ingest: Ingest,
    source: GenerationInput,
    tally: _Tally,
    progress: Progress | None,
) -> None:
    prompt_writer = PromptWriter(connection, ingest)
    if source.read_prompts is not None:
        resolver = _PromptResolver(
            {
                source_id: [identity]
                for source_id, identity in prompt_writer.write_file(
                    source.read_prompts(), progress
                ).items()
            },
            source.file_names[0],
        )
    else:
        resolver = _PromptResolver(study_prompts(connection, ingest.study_name), None)
    numbering = _SampleNumbering()
    held = _held_numbers(connection, ingest)
    with texts_written(connection, _prepared(ingest, source, resolver, numbering)) as batches:
        for batch in batches:
            prompt_writer.write(batch.prompts)
            placed = _without_filled_gaps(held, batch)
            samples = without_taken_samples(connection, ingest, placed.rows)
            inserted = adopt(connection, stories, samples.rows)
            found = [*batch.rejects, *placed.rejects, *samples.rejects]
            if inserted < samples.rows.num_rows:
                copies = known_copies(connection, ingest, samples.rows)
                tally.repeated_count += sum(copy.has_same_text for copy in copies)
                found += map(_copy_reject, copies)
            found = [_explained(reject, batch.assigned_lines) for reject in found]
            write_rejects(connection, ingest, found)
            tally.record_count += batch.record_count
            tally.assigned_count += len(batch.assigned_lines)
            tally.assigned_rejected_count += sum(
                _is_of_assigned(reject, batch.assigned_lines) for reject in found
            )
            tally.inserted_count += inserted
            if progress is not None:
                progress(batch.record_count, batch.byte_count)


def _copy_reject(copy: KnownCopy) -> Reject:
    return Reject(
        "sample",
        "duplicate_sample",
        f"The same sample has {'the same' if copy.has_same_text else 'another'} text on line "
        f"{copy.known_line_number} of {copy.known_file_name}, which stays.",
        copy.file_name,
        copy.line_number,
        prompt_id=copy.prompt_id,
        story_id=copy.story_id,
    )


def _held_numbers(
    connection: duckdb.DuckDBPyConnection, ingest: Ingest
) -> dict[tuple[str, str], frozenset[int]]:
    """Return the sample indexes that finished ingests gave, per prompt and story source."""
    rows = connection.execute(
        "select stories.prompt_id, stories.story_source_name, list(stories.sample_index) "
        "from raw.stories as stories inner join raw.ingests as ingests "
        "on stories.ingest_id = ingests.ingest_id where stories.study_name = $study_name "
        "and stories.sample_index is not null and ingests.status = 'done' group by all",
        {"study_name": ingest.study_name},
    ).fetchall()
    return {(prompt, source): frozenset(numbers) for prompt, source, numbers in rows}


def _without_filled_gaps(
    held: Mapping[tuple[str, str], frozenset[int]], batch: _PreparedGenerations
) -> SortedSamples:
    """Leave out samples that were numbered here into a gap of numbers given elsewhere.

    A longer version of a file that numbers nothing goes on behind the numbers of the first. A gap
    below them is a sample of another file that is missing, and whatever lands there by its place in
    this file may well be another sample of the set once more.
    """
    if not batch.assigned_lines:
        return SortedSamples(batch.stories, [])
    kept, rejects = [], []
    names = ("story_id", "file_name", "line_number", "prompt_id", "story_source_name")
    for row in batch.stories.select([*names, "sample_index"]).to_pylist():
        numbers = held.get((row["prompt_id"], row["story_source_name"]), frozenset())
        number = row["sample_index"]
        is_filling = (
            row["line_number"] in batch.assigned_lines
            and number not in numbers
            and number < max(numbers, default=-1)
        )
        kept.append(not is_filling)
        if is_filling:
            rejects.append(
                Reject(
                    "sample",
                    "duplicate_sample",
                    f"Sample {number} of {row['story_source_name']} is missing among samples that "
                    "were numbered elsewhere, and whether this is it cannot be told.",
                    row["file_name"],
                    row["line_number"],
                    prompt_id=row["prompt_id"],
                    story_id=row["story_id"],
                )
            )
    return SortedSamples(batch.stories.filter(pa.array(kept, pa.bool_())), rejects)


def _is_of_assigned(reject: Reject, assigned_lines: frozenset[int]) -> bool:
    return reject.reason == "duplicate_sample" and reject.line_number in assigned_lines


def _explained(reject: Reject, assigned_lines: frozenset[int]) -> Reject:
    """Add to the reject of a sample that was numbered here how it came to its number."""
    if not _is_of_assigned(reject, assigned_lines):
        return reject
    return replace(
        reject,
        detail=f"{reject.detail} The record gives no sample index, and numbering starts from 0 in "
        f"every input: {SAMPLE_INDEX_REMEDY}.",
    )


@dataclass(frozen=True)
class _PromptResolver:
    """Finds the prompt of a record: by its text, else by its id among known prompts."""

    known: Mapping[str, Sequence[str]]
    prompts_file: str | None
    """Where *known* comes from; None for the prompts that the study has already."""

    def resolve(self, source_id: str | None, prompt: str | None, place: str) -> str | None:
        """Return the identity of the prompt, None where it is unknown.

        Without any known prompt, an id stands for itself.
        """
        if prompt is not None:
            return prompt_id(prompt)
        if source_id is None:
            return None
        found = self.known.get(source_id, () if self.known else (source_id,))
        if len(found) > 1:
            raise AmbiguousPromptError(
                f"a prompt id must stand for one prompt, {source_id!r} of {place} is that of "
                f"{len(found)} prompts of the study; give their texts, or the prompts with "
                "--prompts."
            )
        return found[0] if found else None

    def detail(self, source_id: str | None) -> str:
        """Return why `resolve` found none."""
        if source_id is None:
            return "The record has neither a prompt nor a prompt id."
        where = self.prompts_file or "the study"
        return f"No prompt in {where} has the id {source_id[:80]!r}."


@dataclass
class _SampleNumbering:
    """Numbers samples without an index in the order of the file, per prompt and story source."""

    next_index: Counter[tuple[str, str]] = field(default_factory=Counter)

    def take(self, prompt: str, story_source_name: str) -> int:
        """Return the next number, from 0."""
        key = (prompt, story_source_name)
        self.next_index[key] += 1
        return self.next_index[key] - 1


def _prepared(
    ingest: Ingest,
    source: GenerationInput,
    resolver: _PromptResolver,
    numbering: _SampleNumbering,
) -> Generator[_PreparedGenerations, None, None]:
    for batch in source.read_generations():
        yield _prepare(ingest, batch, resolver, numbering)


def _prepare(
    ingest: Ingest,
    batch: GenerationBatch,
    resolver: _PromptResolver,
    numbering: _SampleNumbering,
) -> _PreparedGenerations:
    kept: list[int] = []
    prompt_ids: list[str] = []
    found: list[Reject] = []
    for index, (source_id, prompt) in enumerate(
        zip(batch.source_prompt_ids, batch.prompts, strict=True)
    ):
        number = int(batch.line_numbers[index])
        identity = resolver.resolve(source_id, prompt, f"line {number} of {batch.file_name}")
        if identity is None:
            detail = resolver.detail(source_id)
            found.append(Reject("sample", "unknown_prompt", detail, batch.file_name, number))
            continue
        kept.append(index)
        prompt_ids.append(identity)
    rows = _LedgerRows(ingest, batch, kept, prompt_ids, numbering)
    return _PreparedGenerations(
        prompt_rows(
            ingest,
            [] if resolver.prompts_file is not None else prompt_ids,
            [batch.source_prompt_ids[index] for index in kept],
            [batch.prompts[index] for index in kept],
        ),
        rows.texts,
        rows.table(),
        found,
        len(batch.texts),
        rows.assigned_lines,
        batch.byte_count,
    )


class _LedgerRows:
    """Rows of ``raw.texts`` and ``raw.stories`` for the kept records of one batch."""

    def __init__(
        self,
        ingest: Ingest,
        batch: GenerationBatch,
        kept: Sequence[int],
        prompt_ids: Sequence[str],
        numbering: _SampleNumbering,
    ) -> None:
        self.ingest, self.batch, self.kept, self.prompt_ids = ingest, batch, kept, prompt_ids
        self.sources = [
            f"{batch.language_model_names[index]}/{batch.decoding_strategy_names[index]}"
            for index in kept
        ]
        given = [batch.sample_indexes[index] for index in kept]
        self.sample_indexes = [
            numbering.take(prompt, source) if index is None else index
            for index, prompt, source in zip(given, prompt_ids, self.sources, strict=True)
        ]
        self.assigned_lines = frozenset(
            int(batch.line_numbers[index])
            for index, number in zip(kept, given, strict=True)
            if number is None
        )
        texts_of = [batch.texts[index] for index in kept]
        self.texts = text_columns([text for text in texts_of if text is not None])
        measured = iter(
            zip(
                self.texts.column("text_id").to_pylist(),
                self.texts.column("word_count").to_pylist(),
                strict=True,
            )
        )
        self.measured = [(None, 0) if text is None else next(measured) for text in texts_of]

    def table(self) -> pa.Table:
        """Return the ledger rows."""
        size = len(self.kept)
        columns = {
            "study_name": [self.ingest.study_name] * size,
            "story_id": [self._story_id(position) for position in range(size)],
            "prompt_id": self.prompt_ids,
            "text_id": [text_id for text_id, _ in self.measured],
            "story_kind": [GENERATED] * size,
            "story_source_name": self.sources,
            "language_model_name": self._picked(self.batch.language_model_names),
            "decoding_strategy_name": self._picked(self.batch.decoding_strategy_names),
            "status": [self._status(position) for position in range(size)],
            "stop_reason": self._picked(self.batch.stop_reasons),
            "file_name": [self.batch.file_name] * size,
            "ingest_id": [self.ingest.ingest_id] * size,
            **{name: self._picked(found) for name, found in self.batch.labels.items()},
        }
        integers = {
            "sample_index": self.sample_indexes,
            **{name: self._picked(found) for name, found in self.batch.counts.items()},
        }
        longs = {
            "seed": self._picked(self.batch.seeds),
            "line_number": self._picked(self.batch.line_numbers),
        }
        doubles = {
            "sampling_temperature": self._picked(self.batch.sampling_temperatures),
            "wall_seconds": self._picked(self.batch.wall_seconds),
        }
        return pa.table(
            {
                **{name: pa.array(found, pa.string()) for name, found in columns.items()},
                **{name: pa.array(found, pa.int32()) for name, found in integers.items()},
                **{name: pa.array(found, pa.int64()) for name, found in longs.items()},
                **{name: pa.array(found, pa.float64()) for name, found in doubles.items()},
            }
        )

    def _picked(self, column: Sequence[object]) -> list[object]:
        return [column[index] for index in self.kept]

    def _story_id(self, position: int) -> str:
        batch, index = self.batch, self.kept[position]
        return content_id(
            GENERATED,
            self.prompt_ids[position],
            batch.language_model_names[index],
            batch.labels["language_model_revision"][index],
            batch.labels["quantization"][index],
            batch.decoding_strategy_names[index],
            batch.labels["template_name"][index],
            self.sample_indexes[position],
            batch.seeds[index],
        )

    def _status(self, position: int) -> str:
        text_id, word_count = self.measured[position]
        if text_id is None:
            return "failed"
        if word_count == 0:
            return "empty"
        if self.batch.stop_reasons[self.kept[position]] == "length":
            return "truncated"
        return "too_short" if word_count < SHORTEST_STORY_WORDS else "ok"


def _require_prompts(connection: duckdb.DuckDBPyConnection, ingest: Ingest) -> None:
    """Refuse generations that leave the study below the prompts a credal set needs."""
    row = connection.execute(
        "select count(distinct stories.prompt_id) from raw.stories as stories "
        "left join raw.ingests as ingests on stories.ingest_id = ingests.ingest_id "
        "where stories.study_name = $name and (stories.ingest_id = $id or ingests.status = 'done')",
        {"name": ingest.study_name, "id": ingest.ingest_id},
    ).fetchone()
    found = 0 if row is None else int(row[0])
    if found < FEWEST_PROMPTS:
        raise SelectionError(
            f"a study must have stories for at least {FEWEST_PROMPTS} prompts, {ingest.study_name} "
            f"would have {found} with {ingest.file_name}; add generations for more prompts."
        )
