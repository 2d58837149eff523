"""Claims about the command line: exit codes, one-sentence errors, formats, documented commands."""

from __future__ import annotations

import csv
import io
import json
import re
import shutil
from pathlib import Path
from types import SimpleNamespace

import duckdb
import pyarrow.parquet as pq
import pytest
from typer.main import get_command

from flows.cli import app, run_cli
from tests.generation.loopback import answering
from warehouse.connection import open_warehouse, snapshot_path, work_path

ROOT = Path(__file__).resolve().parents[2]


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    code = run_cli(list(arguments))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def command_names() -> set[str]:
    return set(get_command(app).commands)  # type: ignore[attr-defined]


def test_every_command_is_in_the_readme() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    missing = {name for name in command_names() if f"calibrary {name}" not in readme}
    assert missing == set()


def test_every_command_of_the_readme_exists() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    blocks = "\n".join(re.findall(r"```sh\n(.*?)```", readme, flags=re.DOTALL))
    assert set(re.findall(r"^calibrary (\w+)", blocks, flags=re.MULTILINE)) <= command_names()


def test_json_is_one_array_of_objects_with_every_digit(
    capsys: pytest.CaptureFixture[str], small_study_home: Path
) -> None:
    code, output, _ = run(
        capsys, "query", "--home", str(small_study_home), "--json",
        "select 1/3::double as third, 'nan'::double as no_number, null as nothing, [1, 2] as list",
    )  # fmt: skip
    assert code == 0
    assert json.loads(output) == [
        {"third": 1 / 3, "no_number": "nan", "nothing": None, "list": [1, 2]}
    ]


def test_csv_and_parquet_hold_the_same_rows(
    capsys: pytest.CaptureFixture[str], small_study_home: Path, tmp_path: Path
) -> None:
    sql = "select story_source_name, hull_volume from fct_credal_sets order by all"
    home = ("--home", str(small_study_home))
    _, output, _ = run(capsys, "query", *home, "--csv", sql)
    target = tmp_path / "answer.parquet"
    assert run(capsys, "query", *home, "--parquet", str(target), sql)[0] == 0
    rows = list(csv.DictReader(io.StringIO(output)))
    written = pq.read_table(target).to_pylist()
    assert len(rows) == len(written) > 0
    assert [float(row["hull_volume"]) for row in rows] == [row["hull_volume"] for row in written]


def test_global_options_mean_the_same_before_and_after_the_command(
    capsys: pytest.CaptureFixture[str], small_study_home: Path
) -> None:
    before = run(capsys, "--home", str(small_study_home), "--json", "status")
    after = run(capsys, "status", "--home", str(small_study_home), "--json")
    assert before == after
    assert json.loads(after[1])["studies"][0]["study_name"] == "small_study"


@pytest.mark.parametrize(
    ("sql", "sentence"),
    [
        ("selec 1", "syntax error"),
        ("select 1; select 2", "got 2"),
        ("select * from nowhere", "nowhere"),
        ("create table t as select 1", "must read"),
        ("", "got 0"),
    ],
)
def test_an_unanswerable_query_is_one_sentence(
    capsys: pytest.CaptureFixture[str], small_study_home: Path, sql: str, sentence: str
) -> None:
    code, _, error = run(capsys, "query", "--home", str(small_study_home), sql)
    assert code == 1
    assert sentence in error
    assert "Traceback" not in error
    assert error.strip().count("\n") == 0


def test_outside_text_is_never_markup(
    capsys: pytest.CaptureFixture[str], small_study_home: Path
) -> None:
    _, output, _ = run(
        capsys, "query", "--home", str(small_study_home), "select '[red]a[/red] <b>' as x"
    )
    assert "[red]a[/red] <b>" in output


@pytest.mark.parametrize(
    "arguments",
    [
        ("bogus",), ("query",), ("ingest", "stories"), ("query", "--csv", "--json", "select 1"),
        ("ingest", "stories", "x", "--stories-per-prompt", "many"),
    ],
)  # fmt: skip
def test_wrong_usage_is_exit_code_two(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...]
) -> None:
    assert run(capsys, *arguments)[0] == 2


def test_commands_before_the_first_run_say_what_to_do(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    home = ("--home", str(tmp_path / "none"))
    for arguments in (
        ("query", "select 1", *home),
        ("measure", *home),
        ("build", *home),
        ("docs", *home),
    ):
        code, _, error = run(capsys, *arguments)
        assert code == 1
        assert "calibrary run" in error
    assert run(capsys, "status", *home)[0] == 0


def test_a_home_that_is_a_file_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "file").touch()
    code, _, error = run(capsys, "status", "--home", str(tmp_path / "file"))
    assert code == 1
    assert f"must be a folder, got a file at {tmp_path / 'file'}" in error


@pytest.mark.parametrize(
    "before", ["", "explain analyze ", "/* a */ EXPLAIN -- b\n ANALYZE ", "explain (analyze) "]
)
def test_a_query_writes_no_file(
    capsys: pytest.CaptureFixture[str], small_study_home: Path, tmp_path: Path, before: str
) -> None:
    target = tmp_path / "written.csv"
    code, _, error = run(
        capsys, "query", "--home", str(small_study_home), f"{before}copy (select 1) to '{target}'"
    )
    assert (code, target.exists()) == (1, False)
    assert "of type COPY" in error


@pytest.mark.parametrize("command", [["report", "--output"], ["query", "select 1", "--parquet"]])
@pytest.mark.parametrize("name", ["work.duckdb", "calibrary.duckdb"])
def test_no_output_replaces_a_file_of_the_warehouse(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: list[str], name: str
) -> None:
    with duckdb.connect(tmp_path / "calibrary.duckdb") as connection:
        connection.execute("create schema marts")
    (tmp_path / "work.duckdb").touch()
    before = (tmp_path / name).read_bytes()
    code, _, error = run(capsys, *command, str(tmp_path / name), "--home", str(tmp_path))
    assert (code, (tmp_path / name).read_bytes() == before) == (1, True)
    assert "must not replace a file of the warehouse" in error


def test_a_file_that_is_not_there_is_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    missing = tmp_path / "nowhere.jsonl"
    code, _, error = run(
        capsys, "ingest", "stories", str(missing), "--home", str(tmp_path / "home")
    )
    assert code == 1
    assert str(missing) in error


def test_an_open_writer_is_named_and_nothing_is_a_lock_error(
    capsys: pytest.CaptureFixture[str], small_study_home: Path, tmp_path: Path
) -> None:
    with open_warehouse(work_path(tmp_path)):
        code, output, error = run(capsys, "status", "--home", str(tmp_path))
    assert code == 0
    assert "Busy: " in output
    assert "lock" not in error.lower()


def test_a_run_with_nothing_new_changes_no_byte(
    capsys: pytest.CaptureFixture[str], small_study_home: Path
) -> None:
    snapshot = snapshot_path(small_study_home).read_bytes()
    with open_warehouse(work_path(small_study_home)) as connection:
        before = connection.execute("select count(*) from raw.runs").fetchone()
    code, output, _ = run(capsys, "run", "--home", str(small_study_home))
    assert code == 0
    assert "nothing new" in output
    assert snapshot_path(small_study_home).read_bytes() == snapshot
    with open_warehouse(work_path(small_study_home)) as connection:
        assert connection.execute("select count(*) from raw.runs").fetchone() == before


def test_the_doctor_finds_this_machine_well(
    capsys: pytest.CaptureFixture[str], small_study_home: Path
) -> None:
    code, output, _ = run(capsys, "doctor", "--home", str(small_study_home))
    assert code == 0, output
    assert "PROBLEM" not in output


def test_a_full_disk_is_one_sentence_before_anything_starts(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=1_000_000))
    code, _, error = run(capsys, "generate", "--home", str(tmp_path / "home"))
    assert code == 1
    assert "must have 32 MB free to start with, has 1.0 at" in error
    assert error.count("\n") == 1


def test_the_doctor_looks_at_the_language_models_of_a_study(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    study = tmp_path / "study.yml"
    with answering(lambda _: (200, b"{}")) as url:
        study.write_text(
            "study_name: served\n"
            "stories: [{path: stories.jsonl}]\n"
            "decoding_strategies: [typical_0.95]\n"
            "language_models:\n"
            f"  - {{name: up, weights: it, endpoint: '{url}', endpoint_server: llama.cpp}}\n"
            f"  - {{name: lost, weights: it, endpoint: '{url}/x', endpoint_server: llama.cpp}}\n"
            f"  - {{name: narrow, weights: it, endpoint: '{url}', endpoint_server: vllm}}\n"
            "  - {name: down, weights: it, endpoint: 'http://127.0.0.1:9/v1',"
            " endpoint_server: llama.cpp}\n"
            "  - {name: gone, weights: 'packaged:nothing'}\n"
        )
        code, output, _ = run(capsys, "doctor", str(study), "--home", str(tmp_path / "home"))
    lines = {line.split(": ")[0]: line for line in output.splitlines()}
    assert code == 1
    assert (
        "answers; log-probabilities kept as those of the unmodified"
        in lines["ok      language model up"]
    )
    assert "answered 404" in lines["PROBLEM language model lost"]
    assert "must be able to do typical_mass" in lines["PROBLEM language model narrow"]
    assert "must answer, got ConnectError" in lines["PROBLEM language model down"]
    assert "packaged model must be one of" in lines["PROBLEM language model gone"]


def test_columns_that_share_a_name_are_both_shown(
    capsys: pytest.CaptureFixture[str], small_study_home: Path
) -> None:
    home = ("--home", str(small_study_home))
    assert run(capsys, "query", *home, "--csv", "select 1 as a, 2 as a")[1] == "a,a\n1,2\n"
    code, _, error = run(capsys, "query", *home, "--json", "select 1 as a, 2 as a")
    assert code == 1
    assert "different names" in error
