from __future__ import annotations

import dataclasses
import itertools
import random
import statistics
from fractions import Fraction
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flows.corpora.errors import SelectionError
from flows.corpora.selection import select, selection_id
from flows.corpora.selection_rules import SelectionRules
from udfs.identity import content_id

RULES = SelectionRules(
    stories_per_prompt=2,
    prompt_count=None,
    minimum_prompt_characters=20,
    maximum_prompt_characters=500,
    minimum_story_tokens=52,
    maximum_story_tokens=987,
    selection_seed=1,
    tokenizer_name="t",
)
Story = tuple[str, str, str, int]
"""story_id, prompt_id, normalised_md5, token_count"""


def prompt_table(character_counts: dict[str, int]) -> pa.Table:
    return pa.table(
        {
            "prompt_id": list(character_counts),
            "source_prompt_id": [f"source-{name}" for name in character_counts],
            "character_count": pa.array(character_counts.values(), pa.int32()),
        }
    )


def story_table(stories: list[Story]) -> pa.Table:
    columns = list(zip(*stories, strict=True)) or [[], [], [], []]
    return pa.table(
        {
            "story_id": pa.array(columns[0], pa.string()),
            "prompt_id": pa.array(columns[1], pa.string()),
            "normalised_md5": pa.array(columns[2], pa.string()),
            "word_count": pa.array([min(count, 3) for count in columns[3]], pa.int32()),
            "token_count": pa.array(columns[3], pa.int32()),
        }
    )


def four_prompts() -> list[Story]:
    """Four prompts that survive, of two stories each, one as varied as the other."""
    return [
        (f"s{prompt}{story}", f"p{prompt}", f"m{prompt}{story}", 100 + story)
        for prompt in range(4)
        for story in range(2)
    ]


def reasons(table: pa.Table, key: str) -> dict[str, str]:
    return dict(zip(table.column(key).to_pylist(), table.column("reason").to_pylist(), strict=True))


@pytest.mark.parametrize(
    ("character_count", "expected"),
    [(19, "prompt_too_short"), (20, None), (500, None), (501, "prompt_too_long")],
)
def test_prompt_limits_are_inclusive(character_count: int, expected: str | None) -> None:
    prompts = dict.fromkeys(["p0", "p1", "p2", "p3"], 100) | {"q": character_count}
    stories = [*four_prompts(), ("sa", "q", "ma", 60), ("sb", "q", "mb", 70)]
    found = select(RULES, prompt_table(prompts), story_table(stories))
    assert reasons(found.rejected_prompts, "prompt_id").get("q") == expected
    of_stories = reasons(found.rejected_stories, "story_id")
    assert [of_stories.get("sa"), of_stories.get("sb")] == 2 * [
        None if expected is None else "prompt_rejected"
    ]


@pytest.mark.parametrize(
    ("token_count", "expected"),
    [
        (0, "empty_story"),
        (51, "story_too_short"),
        (52, None),
        (987, None),
        (988, "story_too_long"),
    ],
)
def test_story_limits_are_inclusive(token_count: int, expected: str | None) -> None:
    prompts = dict.fromkeys(["p0", "p1", "p2", "p3"], 100)
    rules = dataclasses.replace(RULES, stories_per_prompt=2)
    stories = [*four_prompts(), ("x", "p0", "mx", token_count)]
    found = select(
        dataclasses.replace(rules, stories_per_prompt=2),
        prompt_table(prompts),
        story_table(stories),
    )
    reason = reasons(found.rejected_stories, "story_id").get("x")
    assert reason == expected if expected else reason in {None, "beyond_stories_per_prompt"}


def test_of_duplicates_across_prompts_the_smallest_prompt_and_story_stays() -> None:
    prompts = dict.fromkeys(["p0", "p1", "p2", "p3", "p4"], 100)
    stories = [
        *four_prompts(),
        ("z", "p0", "same", 90),
        ("b", "p4", "same", 90),
        ("a", "p4", "same", 90),
        # Too long, so no candidate: it must not take the place of the copy that is one.
        ("0", "p0", "m10", 5000),
    ]
    found = select(RULES, prompt_table(prompts), story_table(stories))
    of_stories = reasons(found.rejected_stories, "story_id")
    assert of_stories["a"] == of_stories["b"] == "duplicate_story"
    assert of_stories.get("z") in {None, "beyond_stories_per_prompt"}
    assert of_stories["0"] == "story_too_long"
    assert "s10" not in of_stories
    assert reasons(found.rejected_prompts, "prompt_id") == {"p4": "too_few_stories"}


def test_prompts_rank_by_exact_spread_and_ties_go_to_the_smaller_id() -> None:
    prompts = dict.fromkeys(["p0", "p1", "p2", "p3", "wide"], 100)
    stories = [*four_prompts(), ("w0", "wide", "w0", 52), ("w1", "wide", "w1", 900)]
    rules = dataclasses.replace(RULES, prompt_count=4)
    found = select(rules, prompt_table(prompts), story_table(stories))
    ranked = dict(
        zip(
            found.drawn.column("prompt_rank").to_pylist(),
            found.drawn.column("prompt_id").to_pylist(),
            strict=True,
        )
    )
    assert ranked == {0: "wide", 1: "p0", 2: "p1", 3: "p2"}
    assert reasons(found.rejected_prompts, "prompt_id") == {"p3": "beyond_prompt_count"}
    assert found.rejected_prompts.column("detail").to_pylist() == [
        "The prompt ranks 5 by spread of story length; the first 4 are kept."
    ]
    assert found.drawn.column("prompt_length_sd").to_pylist()[0] == statistics.pstdev([52, 900])


def test_a_spread_that_floats_cannot_tell_apart_still_ranks() -> None:
    # Both standard deviations are close to 1e8 / 3; their variances differ in the 17th digit.
    near = {"b": [0, 0, 100_000_000], "a": [0, 1, 100_000_001]}
    lengths = near | {f"p{i}": [1, 1, 1] for i in range(4)}
    rules = dataclasses.replace(
        RULES, stories_per_prompt=3, minimum_story_tokens=0, maximum_story_tokens=10**9
    )
    stories = [
        (f"{prompt}{i}", prompt, f"{prompt}{i}", count)
        for prompt, counts in lengths.items()
        for i, count in enumerate(counts)
    ]
    table = story_table(stories).set_column(3, "word_count", pa.array([1] * len(stories)))
    found = select(rules, prompt_table(dict.fromkeys(lengths, 100)), table)

    def variance(counts: list[int]) -> Fraction:
        return Fraction(3 * sum(x * x for x in counts) - sum(counts) ** 2, 9)

    expected = sorted(near, key=lambda prompt: (-variance(near[prompt]), prompt))
    assert list(dict.fromkeys(found.drawn.column("prompt_id").to_pylist()))[:2] == expected


def test_the_draw_takes_the_first_stories_by_seeded_hash() -> None:
    prompts = dict.fromkeys(["p0", "p1", "p2", "p3"], 100)
    many = [(f"x{i}", "p0", f"x{i}", 100 + i) for i in range(20)]
    stories = [story for story in four_prompts() if story[1] != "p0"] + many
    found = select(RULES, prompt_table(prompts), story_table(stories))
    drawn = [
        (row["draw_index"], row["story_id"])
        for row in found.drawn.to_pylist()
        if row["prompt_id"] == "p0"
    ]
    expected = sorted((story[0] for story in many), key=lambda name: content_id("draw", 1, name))
    assert drawn == [(0, expected[0]), (1, expected[1])]
    other = select(
        dataclasses.replace(RULES, selection_seed=2), prompt_table(prompts), story_table(stories)
    )
    assert other.drawn.column("story_id").to_pylist() != found.drawn.column("story_id").to_pylist()


def test_a_prompt_without_stories_is_rejected_as_such() -> None:
    prompts = dict.fromkeys(["p0", "p1", "p2", "p3", "silent"], 100)
    found = select(RULES, prompt_table(prompts), story_table(four_prompts()))
    assert reasons(found.rejected_prompts, "prompt_id") == {"silent": "no_stories"}


def test_too_few_prompts_say_the_best_that_was_found() -> None:
    rules = dataclasses.replace(RULES, stories_per_prompt=10)
    stories = [(f"s{i}", "nine", f"m{i}", 100 + i) for i in range(9)]
    stories += [(f"t{i}", "two", f"n{i}", 100) for i in range(2)]
    with pytest.raises(SelectionError) as raised:
        select(rules, prompt_table({"nine": 30, "two": 30}), story_table(stories))
    assert "at least 4 prompts" in str(raised.value)
    assert "found 0 of 2 prompts" in str(raised.value)
    assert "are 9, of prompt 'source-nine'; lower stories_per_prompt" in str(raised.value)
    with pytest.raises(SelectionError, match="no story is within the limits"):
        select(rules, prompt_table({"p": 30}), story_table([("s", "p", "m", 3)]))
    three = [story for story in four_prompts() if story[1] != "p3"]
    with pytest.raises(SelectionError, match="found 3 of 3 prompts"):
        select(RULES, prompt_table(dict.fromkeys(["p0", "p1", "p2"], 100)), story_table(three))


@st.composite
def corpora(draw: Any) -> tuple[dict[str, int], list[Story]]:
    prompts = {f"p{i}": draw(st.sampled_from([5, 20, 60, 501])) for i in range(8)}
    prompts |= {f"q{i}": 100 for i in range(4)}
    stories = [
        (
            f"{name}-{i}",
            name,
            f"m{draw(st.integers(0, 25))}",
            draw(st.sampled_from([0, 51, 60, 99])),
        )
        for name in prompts
        if name.startswith("p")
        for i in range(draw(st.integers(0, 5)))
    ]
    stories += [(f"q{p}-{i}", f"q{p}", f"q{p}-{i}", 60) for p in range(4) for i in range(2)]
    return prompts, stories


@settings(max_examples=40, deadline=None)
@given(corpora(), st.randoms(use_true_random=False), st.sampled_from([None, 4, 6]))
def test_every_story_is_drawn_or_rejected_once_whatever_the_order(
    corpus: tuple[dict[str, int], list[Story]], shuffler: random.Random, prompt_count: int | None
) -> None:
    prompts, stories = corpus
    rules = dataclasses.replace(RULES, prompt_count=prompt_count)
    tables = prompt_table(prompts), story_table(stories)
    found = select(rules, *tables)
    drawn = found.drawn.column("story_id").to_pylist()
    rejected = found.rejected_stories.column("story_id").to_pylist()
    assert sorted(drawn + rejected) == sorted(story[0] for story in stories)
    kept = set(found.drawn.column("prompt_id").to_pylist())
    left_out = set(found.rejected_prompts.column("prompt_id").to_pylist())
    assert kept | left_out == set(prompts)
    assert not kept & left_out
    counts = itertools.groupby(found.drawn.column("prompt_id").to_pylist())
    assert {len(list(group)) for _, group in counts} == {rules.stories_per_prompt}

    order = list(stories)
    shuffler.shuffle(order)
    names = list(prompts.items())
    shuffler.shuffle(names)
    shuffled = prompt_table(dict(names)), story_table(order)
    assert select(rules, *shuffled) == found
    assert selection_id("s", rules, *shuffled) == selection_id("s", rules, *tables)


def test_the_identity_changes_with_the_study_any_rule_and_any_candidate() -> None:
    prompts, stories = dict.fromkeys(["p0", "p1", "p2", "p3"], 100), four_prompts()
    identities = {selection_id("s", RULES, prompt_table(prompts), story_table(stories))}
    changes: list[dict[str, Any]] = [
        {"stories_per_prompt": 3},
        {"prompt_count": 9},
        {"minimum_prompt_characters": 19},
        {"maximum_prompt_characters": 499},
        {"minimum_story_tokens": 51},
        {"maximum_story_tokens": 986},
        {"selection_seed": 2},
        {"tokenizer_name": "u"},
    ]
    for change in changes:
        rules = dataclasses.replace(RULES, **change)
        identities.add(selection_id("s", rules, prompt_table(prompts), story_table(stories)))
    identities.add(selection_id("s", RULES, prompt_table(prompts | {"x": 9}), story_table(stories)))
    identities.add(selection_id("s", RULES, prompt_table(prompts), story_table(stories[:-1])))
    identities.add(selection_id("t", RULES, prompt_table(prompts), story_table(stories)))
    assert len(identities) == 1 + len(changes) + 3
