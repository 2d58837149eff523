"""Prompts: their rows, their ids in files, and which a study already knows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import duckdb
import pyarrow as pa

from flows.corpora.errors import InvalidRecordError
from flows.corpora.story_inputs import PromptBatch
from flows.ingest_ledger import Ingest, Progress
from udfs.identity import prompt_id
from warehouse.schema import other_prompt_ids, prompts
from warehouse.writers import adopt, upsert

OTHER_IDS = "other_source_prompt_ids"


class AmbiguousPromptError(InvalidRecordError):
    """One prompt id stands for two prompts."""


class LatePromptError(InvalidRecordError):
    """The text of a prompt comes after records that know the prompt by its id only."""


def prompt_rows(
    ingest: Ingest,
    prompt_ids: Sequence[str],
    source_prompt_ids: Sequence[str | None],
    prompt_texts: Sequence[str | None],
) -> pa.Table:
    """Return one row per distinct prompt, under the smallest of its ids in the file.

    A prompt that has none in its file is called by its identity. Its other ids are a list in the
    column `OTHER_IDS`, which `PromptWriter` keeps elsewhere.
    """
    chosen: dict[str, tuple[str | None, str | None]] = {}
    named: dict[str, set[str]] = {}
    for identity, source_id, text in zip(
        prompt_ids,
        source_prompt_ids[: len(prompt_ids)],
        prompt_texts[: len(prompt_ids)],
        strict=True,
    ):
        if source_id is not None:
            named.setdefault(identity, set()).add(source_id)
        before = chosen.get(identity)
        if before is None or (
            source_id is not None and (before[0] is None or source_id < before[0])
        ):
            chosen[identity] = (source_id, text)
    texts = [text for _, text in chosen.values()]
    size = len(chosen)
    return pa.table(
        {
            "study_name": pa.array([ingest.study_name] * size, pa.string()),
            "prompt_id": pa.array(list(chosen), pa.string()),
            "source_prompt_id": pa.array(
                [source or identity for identity, (source, _) in chosen.items()], pa.string()
            ),
            "prompt_text": pa.array(texts, pa.string()),
            "character_count": pa.array(
                [None if text is None else len(text) for text in texts], pa.int32()
            ),
            "ingest_id": pa.array([ingest.ingest_id] * size, pa.string()),
            OTHER_IDS: pa.array(
                [
                    sorted(named.get(identity, set()) - {source})
                    for identity, (source, _) in chosen.items()
                ],
                pa.list_(pa.string()),
            ),
        }
    )


class PromptWriter:
    """Writes the prompts of one ingest, each pair of prompt and id in the file once."""

    def __init__(self, connection: duckdb.DuckDBPyConnection, ingest: Ingest) -> None:
        self._connection = connection
        self._ingest = ingest
        self._written: dict[str, str] = {}
        self._kept_ids: set[tuple[str, str]] = set()
        self._without_text = _prompts_without_text(connection, ingest.study_name)

    def write(self, rows: pa.Table) -> None:
        """Write *rows* (`prompt_rows`) that are new or bring a smaller id, and all their ids.

        Raises
        ------
        LatePromptError
            A text comes for an id that the study has had without one.
        """
        self._refuse_late(
            rows.column("source_prompt_id").to_pylist(), rows.column("prompt_text").to_pylist()
        )
        named = list(
            zip(
                rows.column("prompt_id").to_pylist(),
                rows.column("source_prompt_id").to_pylist(),
                rows.column(OTHER_IDS).to_pylist(),
                strict=True,
            )
        )
        is_new = [
            prompt not in self._written or _is_better(prompt, source, self._written[prompt])
            for prompt, source, _ in named
        ]
        fresh = rows.drop_columns([OTHER_IDS]).filter(pa.array(is_new, pa.bool_()))
        if fresh.num_rows:
            adopt(self._connection, prompts, fresh)
            self._rename(fresh)
        self._keep_other_ids(
            [(prompt, name) for prompt, source, others in named for name in (source, *others)]
        )
        for (prompt, source, _), is_written in zip(named, is_new, strict=True):
            if is_written:
                self._written[prompt] = source

    def write_file(
        self, batches: Iterator[PromptBatch], progress: Progress | None = None
    ) -> dict[str, str]:
        """Write a prompts file and return the prompt of every id in it.

        Raises
        ------
        AmbiguousPromptError
            One id has two texts; the sentence gives both lines.
        LatePromptError
            A text comes for an id that the study has had without one.
        """
        known: dict[str, str] = {}
        lines: dict[str, tuple[str, int]] = {}
        for batch in batches:
            identities = [prompt_id(text) for text in batch.prompts]
            self._refuse_late(batch.source_prompt_ids, batch.prompts)
            for source_id, identity, number in zip(
                batch.source_prompt_ids, identities, batch.line_numbers, strict=True
            ):
                if known.setdefault(source_id, identity) != identity:
                    first_file, first_line = lines[source_id]
                    raise AmbiguousPromptError(
                        f"a prompt id must stand for one prompt, {source_id!r} has one text on "
                        f"line {first_line} of {first_file} and another on line {number} of "
                        f"{batch.file_name}; give every prompt an id of its own."
                    )
                lines.setdefault(source_id, (batch.file_name, number))
            self.write(
                prompt_rows(self._ingest, identities, batch.source_prompt_ids, batch.prompts)
            )
            if progress is not None:
                progress(0, batch.byte_count)
        return known

    def _refuse_late(self, source_ids: Sequence[str], prompt_texts: Sequence[str | None]) -> None:
        if not self._without_text:
            return
        for source_id, text in zip(source_ids, prompt_texts, strict=True):
            known_file = self._without_text.get(source_id)
            if text is not None and known_file is not None:
                raise LatePromptError(
                    f"the text of a prompt must come before records with its id only, "
                    f"{self._ingest.file_name} has the text of {source_id!r}, which "
                    f"{self._ingest.study_name} knows without one from {known_file}; ingest the "
                    "prompts or stories first, under a new name."
                )

    def _rename(self, rows: pa.Table) -> None:
        """Give known prompts the smaller of their ids, so that the order of files is no matter."""
        self._connection.register("calibrary_prompts", rows)
        try:
            smaller = self._connection.execute(
                """
                select
                    known.* replace (incoming.source_prompt_id as source_prompt_id),
                    known.source_prompt_id as former_id
                from calibrary_prompts as incoming
                inner join raw.prompts as known
                    on incoming.study_name = known.study_name
                    and incoming.prompt_id = known.prompt_id
                where incoming.source_prompt_id <> incoming.prompt_id
                    and (
                        known.source_prompt_id = known.prompt_id
                        or incoming.source_prompt_id < known.source_prompt_id
                    )
                """
            ).to_arrow_table()
        finally:
            self._connection.unregister("calibrary_prompts")
        if smaller.num_rows:
            former = zip(
                smaller.column("prompt_id").to_pylist(),
                smaller.column("former_id").to_pylist(),
                strict=True,
            )
            renamed = smaller.drop_columns(["former_id"])
            upsert(self._connection, prompts, renamed, update=["source_prompt_id"])
            self._keep_other_ids(list(former))

    def _keep_other_ids(self, pairs: Sequence[tuple[str, str]]) -> None:
        """Keep the ids of prompts that go by another: later files may use any of them."""
        found = list(
            dict.fromkeys(
                pair for pair in pairs if pair[0] != pair[1] and pair not in self._kept_ids
            )
        )
        if not found:
            return
        incoming = pa.table(
            {
                "prompt_id": pa.array([prompt for prompt, _ in found], pa.string()),
                "source_prompt_id": pa.array([name for _, name in found], pa.string()),
            }
        )
        self._connection.register("calibrary_prompt_ids", incoming)
        try:
            others = self._connection.execute(
                """
                select
                    known.study_name,
                    incoming.source_prompt_id,
                    incoming.prompt_id,
                    $ingest_id as ingest_id
                from calibrary_prompt_ids as incoming
                inner join raw.prompts as known
                    on incoming.prompt_id = known.prompt_id
                    and incoming.source_prompt_id <> known.source_prompt_id
                where known.study_name = $study_name
                """,
                {"ingest_id": self._ingest.ingest_id, "study_name": self._ingest.study_name},
            ).to_arrow_table()
        finally:
            self._connection.unregister("calibrary_prompt_ids")
        if others.num_rows:
            adopt(self._connection, other_prompt_ids, others)
        self._kept_ids.update(found)


def _is_better(prompt: str, source: str, known: str) -> bool:
    return source != prompt and (known == prompt or source < known)


def _prompts_without_text(connection: duckdb.DuckDBPyConnection, study_name: str) -> dict[str, str]:
    """Return the prompts that finished ingests know by their id only, and the file of each."""
    return dict(
        connection.execute(
            "select prompts.prompt_id, ingests.file_name from raw.prompts as prompts "
            "inner join raw.ingests as ingests on prompts.ingest_id = ingests.ingest_id "
            "where prompts.study_name = $name and prompts.prompt_text is null "
            "and ingests.status = 'done'",
            {"name": study_name},
        ).fetchall()
    )


def study_prompts(connection: duckdb.DuckDBPyConnection, study_name: str) -> dict[str, list[str]]:
    """Return the prompts with a text that finished ingests brought, by their id in the file."""
    rows = connection.execute(
        """
        select
            named.source_prompt_id,
            list(distinct prompts.prompt_id order by prompts.prompt_id)
        from (
            select study_name, prompt_id, source_prompt_id, ingest_id from raw.prompts
            union all by name
            select * from raw.other_prompt_ids
        ) as named
        inner join raw.prompts as prompts
            on named.study_name = prompts.study_name and named.prompt_id = prompts.prompt_id
        inner join raw.ingests as ingests on named.ingest_id = ingests.ingest_id
        where named.study_name = $name
            and prompts.prompt_text is not null
            and ingests.status = 'done'
        group by named.source_prompt_id
        """,
        {"name": study_name},
    ).fetchall()
    return {str(source): list(found) for source, found in rows}
