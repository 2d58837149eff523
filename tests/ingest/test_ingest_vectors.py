from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from flows.corpora.errors import InvalidVectorError, MissingColumnError
from flows.corpora.layouts import StoriesLayout, VectorsLayout
from flows.ingest_prompts import AmbiguousPromptError, LatePromptError
from flows.ingest_stories import ingest_stories
from flows.ingest_vectors import ingest_diversity_vectors
from flows.study import StudySettings, settings_with
from tests.ingest.ingest_inputs import raw_state, rows, story_records, write_jsonl
from udfs.identity import prompt_id

Connection = duckdb.DuckDBPyConnection

LONG_HEADER = "prompt_id,story_source_name,semantic_diversity,lexical_diversity,syntactic_diversity"
AXES = "semantic_diversity,lexical_diversity,syntactic_diversity"
WIDE_HEADER = "prompt_id,model,strategy," + ",".join(
    f"{who}_{axis}" for who in ("human", "model") for axis in AXES.split(",")
)


def long_rows(prompt_count: int = 4) -> list[str]:
    return [
        f"{prompt},{source},0.{prompt}5,0.5,{value}"
        for prompt in range(prompt_count)
        for source, value in (("human", 1), ("toy/top_k_40", 0))
    ]


def wide_rows(prompt_count: int = 4) -> list[str]:
    return [
        f"{prompt},toy,{strategy},0.{prompt}5,0.5,1,0.25,0.75,{value}"
        for prompt in range(prompt_count)
        for strategy, value in (("top_k_40", 0), ("top_p_0.9", 0.5))
    ]


def write(path: Path, header: str, lines: list[str]) -> Path:
    path.write_text("\n".join([header, *lines, ""]))
    return path


def ingest(connection: Connection, settings: StudySettings, path: Path):  # type: ignore[no-untyped-def]
    return ingest_diversity_vectors(connection, settings, VectorsLayout(str(path)))


def test_long_vectors_enter_as_given(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    path = write(tmp_path / "v.csv", LONG_HEADER, long_rows())
    report = ingest(warehouse, small, path)
    assert (report.is_new, report.row_count, report.inserted_count) == (True, 8, 8)
    assert rows(
        warehouse,
        f"select prompt_id, story_source_name, story_kind, language_model_name, "  # noqa: S608
        f"decoding_strategy_name, {AXES}, line_number from raw.diversity_vectors "
        "where prompt_id = '3' order by 2",
    ) == [
        ("3", "human", "human", None, None, 0.35, 0.5, 1.0, 8),
        ("3", "toy/top_k_40", "generated", "toy", "top_k_40", 0.35, 0.5, 0.0, 9),
    ]
    assert rows(warehouse, "select count(*) from raw.prompts where prompt_text is null") == [(4,)]
    before = raw_state(warehouse)
    assert not ingest(warehouse, small, path).is_new
    assert raw_state(warehouse) == before


def test_model_and_strategy_columns_name_the_source_of_long_vectors(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    lines = [f"{i},{name},0.1,0.2,0.3" for i in range(4) for name in ("human,", "toy,greedy")]
    ingest(warehouse, small, write(tmp_path / "v.csv", f"prompt_id,model,strategy,{AXES}", lines))
    assert rows(
        warehouse,
        "select story_source_name, count(*) from raw.diversity_vectors group by 1 order by 1",
    ) == [("human", 4), ("toy/greedy", 4)]


def test_side_by_side_human_vectors_enter_once(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    report = ingest(warehouse, small, write(tmp_path / "v.csv", WIDE_HEADER, wide_rows()))
    assert (report.row_count, report.inserted_count) == (8, 12)
    assert rows(
        warehouse,
        "select story_source_name, count(*) from raw.diversity_vectors group by 1 order by 1",
    ) == [("human", 4), ("toy/top_k_40", 4), ("toy/top_p_0.9", 4)]


def test_human_vectors_that_disagree_are_refused_with_both_lines(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    lines = wide_rows()
    lines[5] = lines[5].replace(",0.25,", ",0.26,", 1)
    with pytest.raises(InvalidVectorError) as raised:
        ingest(warehouse, small, write(tmp_path / "v.csv", WIDE_HEADER, lines))
    assert str(raised.value) == (
        "a prompt must have one vector per story source, prompt '2' of human has "
        "semantic_diversity 0.25 on line 6 of v.csv and 0.26 on line 7 of v.csv; keep one of them."
    )
    for name in ("ingests", "diversity_vectors", "prompts", "studies"):
        assert rows(warehouse, f"select count(*) from raw.{name}") == [(0,)]  # noqa: S608


def test_a_vector_twice_enters_once_and_a_contradiction_is_refused(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    lines = [*long_rows(), long_rows()[0]]
    report = ingest(warehouse, small, write(tmp_path / "v.csv", LONG_HEADER, lines))
    assert (report.row_count, report.inserted_count) == (9, 8)
    lines[-1] = "0,human,0.05,0.6,1"
    with pytest.raises(InvalidVectorError, match=r"0\.5 on line 2 of w\.csv and 0\.6 on line 10"):
        ingest(warehouse, small, write(tmp_path / "w.csv", LONG_HEADER, lines))
    with pytest.raises(InvalidVectorError, match=r"line 2 of v\.csv, ingested before, and 0\.6"):
        ingest(warehouse, small, write(tmp_path / "x.csv", LONG_HEADER, lines[-1:]))


@pytest.mark.parametrize("value", ["nan", "", "1.0001", "-0.1", "inf", "many"])
@pytest.mark.parametrize(
    ("header", "column"), [(LONG_HEADER, 3), (WIDE_HEADER, 4), (WIDE_HEADER, 7)]
)
def test_a_value_outside_the_unit_interval_is_refused_with_file_line_and_column(
    tmp_path: Path,
    warehouse: Connection,
    small: StudySettings,
    header: str,
    column: int,
    value: str,
) -> None:
    lines = long_rows() if header == LONG_HEADER else wide_rows()
    fields = lines[2].split(",")
    fields[column] = value
    lines[2] = ",".join(fields)
    with pytest.raises(InvalidVectorError) as raised:
        ingest(warehouse, small, write(tmp_path / "v.csv", header, lines))
    name = header.split(",")[column]
    shown = repr(value) if value else "nothing"
    assert str(raised.value) == (
        f"column {name!r} must hold numbers in [0, 1], got {shown} on line 4 of v.csv."
    )
    assert rows(warehouse, "select count(*) from raw.ingests") == [(0,)]


def test_fewer_than_four_prompts_are_refused(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    with pytest.raises(InvalidVectorError, match=r"at least 4 prompts, got 3 in v\.csv"):
        ingest(warehouse, small, write(tmp_path / "v.csv", LONG_HEADER, long_rows(3)))


@pytest.mark.parametrize(
    ("header", "line", "sentence"),
    [
        ("prompt_id,a,b", "0,1,2", "must be long"),
        (LONG_HEADER.replace("prompt_id", "nr"), long_rows()[0], "--prompt-id-column"),
        (LONG_HEADER.replace("lexical_", "lex_"), long_rows()[0], "lexical_diversity"),
        (LONG_HEADER.replace("story_source_name", "by"), long_rows()[0], "--language-model-column"),
        (WIDE_HEADER.replace("model_lex", "lex"), wide_rows()[0], "model_lexical_diversity"),
        (LONG_HEADER.replace(",", ";"), "x", "give --delimiter ';'"),
    ],
)
def test_missing_columns_are_named(
    tmp_path: Path,
    warehouse: Connection,
    small: StudySettings,
    header: str,
    line: str,
    sentence: str,
) -> None:
    with pytest.raises(MissingColumnError) as raised:
        ingest(warehouse, small, write(tmp_path / "v.csv", header, [line]))
    assert sentence in str(raised.value)
    assert str(tmp_path / "v.csv") in str(raised.value)


@pytest.mark.parametrize("name", ["GPT2", "/x", "x/", ""])
def test_a_story_source_without_model_and_strategy_is_refused(
    tmp_path: Path, warehouse: Connection, small: StudySettings, name: str
) -> None:
    lines = long_rows()
    lines[1] = lines[1].replace("toy/top_k_40", name)
    with pytest.raises(InvalidVectorError, match=r"on line 3 of v\.csv"):
        ingest(warehouse, small, write(tmp_path / "v.csv", LONG_HEADER, lines))


def test_ids_that_the_study_knows_are_its_prompts(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    ingest_stories(
        warehouse, small, StoriesLayout(str(write_jsonl(tmp_path / "s.jsonl", story_records())))
    )
    lines = [f"p{line}" for line in long_rows(5)]
    ingest(warehouse, small, write(tmp_path / "v.csv", LONG_HEADER, lines))
    found = {row[0] for row in rows(warehouse, "select prompt_id from raw.diversity_vectors")}
    assert found == {prompt_id(f"Prompt number {i}") for i in range(4)} | {"p4"}


@pytest.mark.parametrize("value", ["0.1", "0.9"])
def test_vectors_of_two_ids_of_one_prompt_must_agree(
    tmp_path: Path, warehouse: Connection, small: StudySettings, value: str
) -> None:
    records = story_records()
    records += [record | {"prompt_id": "q0", "text": "Other"} for record in records[:1]]
    ingest_stories(warehouse, small, StoriesLayout(str(write_jsonl(tmp_path / "s.jsonl", records))))
    lines = [f"p{prompt},toy/top_k_40,0.1,0.5,0.5" for prompt in range(4)]
    path = write(tmp_path / "v.csv", LONG_HEADER, [*lines, f"q0,toy/top_k_40,{value},0.5,0.5"])
    if value == "0.1":
        assert ingest(warehouse, small, path).inserted_count == 4
        return
    with pytest.raises(InvalidVectorError, match=r"0\.1 on line 2 of v\.csv and 0\.9 on line 6"):
        ingest(warehouse, small, path)
    assert rows(warehouse, "select count(*) from raw.diversity_vectors") == [(0,)]


@pytest.mark.shared_data
def test_the_released_vectors_enter_whole(shared_data: Path, warehouse: Connection) -> None:
    report = ingest(
        warehouse,
        StudySettings(study_name="gcv"),
        shared_data / "uncertain_human" / "uncertainty_analysis.csv",
    )
    assert (report.row_count, report.inserted_count) == (10_000, 10_500)
    assert rows(
        warehouse,
        "select story_kind, count(*), count(distinct story_source_name), count(distinct prompt_id) "
        "from raw.diversity_vectors group by 1 order by 1",
    ) == [("generated", 10_000, 20, 500), ("human", 500, 1, 500)]


def test_prompt_texts_that_come_after_vectors_with_their_ids_are_refused(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    ingest(warehouse, small, write(tmp_path / "v.csv", LONG_HEADER, long_rows()))
    records = [record | {"prompt_id": record["prompt_id"][1:]} for record in story_records()]
    path = write_jsonl(tmp_path / "s.jsonl", records)
    with pytest.raises(LatePromptError) as raised:
        ingest_stories(warehouse, small, StoriesLayout(str(path)))
    assert str(raised.value) == (
        "the text of a prompt must come before records with its id only, s.jsonl has the text of "
        "'0', which tiny knows without one from v.csv; ingest the prompts or stories first, under "
        "a new name."
    )
    other = settings_with(small, study_name="other")
    assert ingest_stories(warehouse, other, StoriesLayout(str(path))).is_new


def test_a_vector_whose_id_is_that_of_two_prompts_is_refused(
    tmp_path: Path, warehouse: Connection, small: StudySettings
) -> None:
    records = [record | {"prompt_id": "0"} for record in story_records()]
    path = write_jsonl(tmp_path / "s.jsonl", records)
    ingest_stories(warehouse, small, StoriesLayout(str(path)))
    with pytest.raises(AmbiguousPromptError, match=r"'0' on line 2 of v\.csv is that of 4 prompts"):
        ingest(warehouse, small, write(tmp_path / "v.csv", LONG_HEADER, long_rows()))
