"""The selection of human stories (GCV section 3.1), as a pure function of a candidate table.

Prompts within the character limits; stories within the token limits; one copy of each duplicate in
the whole corpus; prompts with enough unique stories; those ranked by the spread of story length,
and their stories drawn by a seeded rule. Nothing depends on the order of the rows: ties go to the
smaller id, and lengths are compared as exact fractions.
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from flows.corpora.errors import SelectionError
from flows.corpora.selection_rules import SelectionRules, prompt_detail, story_detail
from udfs.identity import content_id

FEWEST_PROMPTS = 4
"""A hull in three dimensions has at least four corners."""

RULE_VERSION = 1
"""Raised when the rule itself changes, so that an old selection is not taken for a new one."""


@dataclass(frozen=True)
class Selection:
    """What was drawn, and what was left out and why.

    Attributes
    ----------
    drawn : pyarrow.Table
        ``story_id, prompt_id, prompt_rank, draw_index, story_token_count, prompt_length_sd``.
    rejected_prompts : pyarrow.Table
        ``prompt_id, reason, detail``.
    rejected_stories : pyarrow.Table
        ``story_id, prompt_id, reason, detail``. With *drawn*, every candidate story once.
    """

    drawn: pa.Table
    rejected_prompts: pa.Table
    rejected_stories: pa.Table


def selection_id(
    study_name: str, rules: SelectionRules, prompts: pa.Table, stories: pa.Table
) -> str:
    """Return the identity of a selection: study, rules and candidates, in whatever order."""
    digest = hashlib.sha256()
    for table, key in ((prompts, "prompt_id"), (stories, "story_id")):
        ordered = table.sort_by(key)
        for name in sorted(set(ordered.column_names) - {"source_prompt_id"}):
            column = ordered.column(name).cast(pa.string()).fill_null("").to_pylist()
            digest.update("\n".join([name, *column, ""]).encode())
    return content_id(
        "selection",
        RULE_VERSION,
        study_name,
        rules.stories_per_prompt,
        rules.prompt_count,
        rules.minimum_prompt_characters,
        rules.maximum_prompt_characters,
        rules.minimum_story_tokens,
        rules.maximum_story_tokens,
        rules.selection_seed,
        rules.tokenizer_name,
        digest.hexdigest(),
    )


def select(rules: SelectionRules, prompts: pa.Table, stories: pa.Table) -> Selection:
    """Apply the rules to the candidates.

    Parameters
    ----------
    rules : SelectionRules
        The settings.
    prompts : pyarrow.Table
        ``prompt_id``, ``source_prompt_id``, ``character_count``: every prompt that human stories
        were looked for, each once.
    stories : pyarrow.Table
        ``story_id``, ``prompt_id``, ``normalised_md5``, ``word_count``, ``token_count`` (null where
        its prompt is outside the character limits: not counted): each story once.

    Raises
    ------
    SelectionError
        Fewer than `FEWEST_PROMPTS` prompts survive; the sentence says the best that was found.
    """
    return _Selector(rules, prompts, stories).select()


class _Selector:
    """The candidates as arrays, sorted by (prompt_id, story_id)."""

    def __init__(self, rules: SelectionRules, prompts: pa.Table, stories: pa.Table) -> None:
        self.rules = rules
        prompts = prompts.sort_by("prompt_id")
        stories = stories.sort_by([("prompt_id", "ascending"), ("story_id", "ascending")])
        self.prompt_ids: list[str] = prompts.column("prompt_id").to_pylist()
        self.source_prompt_ids: list[str] = prompts.column("source_prompt_id").to_pylist()
        self.character_counts = _integers(prompts, "character_count")
        self.story_ids: list[str] = stories.column("story_id").to_pylist()
        self.token_counts = _integers(stories, "token_count")
        self.word_counts = _integers(stories, "word_count")
        self.prompt_of = pc.index_in(
            stories.column("prompt_id"), value_set=prompts.column("prompt_id").combine_chunks()
        ).to_numpy()
        fingerprints = stories.column("normalised_md5").combine_chunks().dictionary_encode()
        self.fingerprints: NDArray[np.int64] = fingerprints.indices.to_numpy().astype(np.int64)
        self.story_reasons: NDArray[Any] = np.full(len(self.story_ids), None, object)
        self.prompt_reasons: NDArray[Any] = np.full(len(self.prompt_ids), None, object)
        self.first_copies: NDArray[np.int64] = np.arange(len(self.story_ids))

    def select(self) -> Selection:
        rules, size = self.rules, len(self.prompt_ids)
        candidates = np.bincount(self.prompt_of, minlength=size)
        self._reject_prompts(
            "prompt_too_short", self.character_counts < rules.minimum_prompt_characters
        )
        self._reject_prompts(
            "prompt_too_long", self.character_counts > rules.maximum_prompt_characters
        )
        self._reject_prompts("no_stories", candidates == 0)
        self._reject_stories("prompt_rejected", self._is_of_rejected_prompt())
        self._reject_stories("empty_story", self.word_counts == 0)
        self._reject_stories("story_too_short", self.token_counts < rules.minimum_story_tokens)
        self._reject_stories("story_too_long", self.token_counts > rules.maximum_story_tokens)
        self._reject_duplicates()
        is_eligible = self.story_reasons == None  # noqa: E711 - elementwise
        unique_counts = np.bincount(self.prompt_of[is_eligible], minlength=size)
        self._reject_prompts("too_few_stories", unique_counts < rules.stories_per_prompt)
        ranked, spreads = self._ranked(is_eligible, unique_counts)
        if len(ranked) < FEWEST_PROMPTS:
            raise self._too_few_prompts(len(ranked), unique_counts)
        kept = ranked if rules.prompt_count is None else ranked[: rules.prompt_count]
        ranks = {int(prompt): rank for rank, prompt in enumerate(ranked)}
        is_beyond = np.zeros(size, bool)
        is_beyond[ranked[len(kept) :]] = True
        self._reject_prompts("beyond_prompt_count", is_beyond)
        self._reject_stories("prompt_rejected", self._is_of_rejected_prompt())
        drawn = self._drawn(kept, spreads)
        return Selection(
            drawn,
            self._rejected_prompts(unique_counts, ranks),
            self._rejected_stories(),
        )

    def _reject_prompts(self, reason: str, is_met: NDArray[np.bool_]) -> None:
        self.prompt_reasons[is_met & (self.prompt_reasons == None)] = reason  # noqa: E711

    def _reject_stories(self, reason: str, is_met: NDArray[np.bool_]) -> None:
        self.story_reasons[is_met & (self.story_reasons == None)] = reason  # noqa: E711

    def _is_of_rejected_prompt(self) -> NDArray[np.bool_]:
        is_rejected: NDArray[np.bool_] = (self.prompt_reasons != None)[self.prompt_of]  # noqa: E711
        return is_rejected

    def _reject_duplicates(self) -> None:
        """Keep the copy with the smallest (prompt_id, story_id): the first in this order."""
        eligible = np.flatnonzero(self.story_reasons == None)  # noqa: E711
        codes, first, inverse = np.unique(
            self.fingerprints[eligible], return_index=True, return_inverse=True
        )
        del codes
        self.first_copies[eligible] = eligible[first[inverse]]
        is_copy = np.zeros(len(self.story_ids), bool)
        is_copy[eligible] = self.first_copies[eligible] != eligible
        self._reject_stories("duplicate_story", is_copy)

    def _ranked(
        self, is_eligible: NDArray[np.bool_], counts: NDArray[np.int64]
    ) -> tuple[NDArray[np.int64], dict[int, Fraction]]:
        """Prompts still in, widest spread of story length first, and those variances.

        n^2 times the population variance is n Σx² − (Σx)², an integer: no rounding decides a rank.
        """
        lengths, owners = self.token_counts[is_eligible], self.prompt_of[is_eligible]
        sums = np.zeros(len(self.prompt_ids), np.int64)
        squares = np.zeros(len(self.prompt_ids), np.int64)
        np.add.at(sums, owners, lengths)
        np.add.at(squares, owners, lengths * lengths)
        surviving = np.flatnonzero(self.prompt_reasons == None)  # noqa: E711
        spreads = {
            prompt: Fraction(
                int(counts[prompt]) * int(squares[prompt]) - int(sums[prompt]) ** 2,
                int(counts[prompt]) ** 2,
            )
            for prompt in map(int, surviving)
        }
        # Prompts are numbered in the order of their ids, and sorting is stable.
        ranked = sorted(spreads, key=lambda prompt: -spreads[prompt])
        return np.array(ranked, np.int64), spreads

    def _drawn(self, kept: NDArray[np.int64], spreads: dict[int, Fraction]) -> pa.Table:
        rank_of = np.full(len(self.prompt_ids), -1, np.int64)
        rank_of[kept] = np.arange(len(kept))
        remaining = np.flatnonzero(self.story_reasons == None)  # noqa: E711
        keys = [
            (int(rank_of[self.prompt_of[story]]), self._draw_key(story), story)
            for story in map(int, remaining)
        ]
        rows: list[tuple[str, str, int, int, int, float]] = []
        last_rank, draw_index = -1, 0
        for rank, _, story in sorted(keys):
            draw_index = draw_index + 1 if rank == last_rank else 0
            last_rank = rank
            if draw_index >= self.rules.stories_per_prompt:
                self.story_reasons[story] = "beyond_stories_per_prompt"
                continue
            prompt = int(self.prompt_of[story])
            rows.append(
                (
                    self.story_ids[story],
                    self.prompt_ids[prompt],
                    rank,
                    draw_index,
                    int(self.token_counts[story]),
                    math.sqrt(spreads[prompt]),
                )
            )
        columns = list(zip(*rows, strict=True))
        return pa.table(
            {
                "story_id": pa.array(columns[0], pa.string()),
                "prompt_id": pa.array(columns[1], pa.string()),
                "prompt_rank": pa.array(columns[2], pa.int32()),
                "draw_index": pa.array(columns[3], pa.int32()),
                "story_token_count": pa.array(columns[4], pa.int32()),
                "prompt_length_sd": pa.array(columns[5], pa.float64()),
            }
        )

    def _draw_key(self, story: int) -> str:
        return content_id("draw", self.rules.selection_seed, self.story_ids[story])

    def _too_few_prompts(self, found: int, unique_counts: NDArray[np.int64]) -> SelectionError:
        rules = self.rules
        best = int(np.argmax(unique_counts)) if len(unique_counts) else -1
        best_found = (
            f"the most unique stories within the limits are {int(unique_counts[best])}, of prompt "
            f"{self.source_prompt_ids[best]!r}"
            if best >= 0 and unique_counts[best]
            else "no story is within the limits"
        )
        return SelectionError(
            f"at least {FEWEST_PROMPTS} prompts of {rules.minimum_prompt_characters} to "
            f"{rules.maximum_prompt_characters} characters must have {rules.stories_per_prompt} "
            f"unique stories of {rules.minimum_story_tokens} to {rules.maximum_story_tokens} "
            f"tokens, found {found} of {len(self.prompt_ids)} prompts; {best_found}; lower "
            "stories_per_prompt (--stories-per-prompt), widen the character or token limits, or "
            "add stories."
        )

    def _rejected_prompts(
        self, unique_counts: NDArray[np.int64], ranks: dict[int, int]
    ) -> pa.Table:
        rejected = [int(i) for i in np.flatnonzero(self.prompt_reasons != None)]  # noqa: E711
        return pa.table(
            {
                "prompt_id": pa.array([self.prompt_ids[i] for i in rejected], pa.string()),
                "reason": pa.array([self.prompt_reasons[i] for i in rejected], pa.string()),
                "detail": pa.array(
                    [self._prompt_detail(i, int(unique_counts[i]), ranks) for i in rejected],
                    pa.string(),
                ),
            }
        )

    def _prompt_detail(self, prompt: int, unique_count: int, ranks: dict[int, int]) -> str:
        return prompt_detail(
            self.prompt_reasons[prompt],
            self.rules,
            character_count=int(self.character_counts[prompt]),
            unique_count=unique_count,
            rank=ranks.get(prompt, -1),
        )

    def _rejected_stories(self) -> pa.Table:
        rejected = [int(i) for i in np.flatnonzero(self.story_reasons != None)]  # noqa: E711
        return pa.table(
            {
                "story_id": pa.array([self.story_ids[i] for i in rejected], pa.string()),
                "prompt_id": pa.array(
                    [self.prompt_ids[self.prompt_of[i]] for i in rejected], pa.string()
                ),
                "reason": pa.array([self.story_reasons[i] for i in rejected], pa.string()),
                "detail": pa.array([self._story_detail(i) for i in rejected], pa.string()),
            }
        )

    def _story_detail(self, story: int) -> str:
        return story_detail(
            self.story_reasons[story],
            self.rules,
            token_count=int(self.token_counts[story]),
            prompt_reason=self.prompt_reasons[self.prompt_of[story]],
            first_copy=self.story_ids[self.first_copies[story]],
        )


def _integers(table: pa.Table, name: str) -> NDArray[np.int64]:
    values: NDArray[np.int64] = table.column(name).cast(pa.int64()).fill_null(0).to_numpy()
    return values
