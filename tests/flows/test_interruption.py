"""Claims about Ctrl-C and ``kill -9`` in the middle of measuring and of building."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import duckdb
import psutil
import pytest

from warehouse.connection import open_warehouse, snapshot_path, work_path
from warehouse.readers import raw_state_id
from warehouse.schema import text_word_sets
from warehouse.writers import upsert

pytestmark = pytest.mark.timeout(600)


def start(home: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "flows", *arguments, "--home", str(home)],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"CALIBRARY_HOME": str(home)},
        # A test run started in the background ignores Ctrl-C, and its children would inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


def kill(process: subprocess.Popen[str]) -> None:
    """``kill -9``; the server that it leaves behind holds the pipes, so nothing is read of them."""
    process.kill()
    process.wait(timeout=60)
    for pipe in (process.stdout, process.stderr):
        if pipe is not None:
            pipe.close()


def finish(home: Path, *arguments: str) -> str:
    process = start(home, *arguments)
    output, errors = process.communicate(timeout=280)
    assert process.returncode == 0, errors
    return output


def wait_until_written(path: Path, process: subprocess.Popen[str], times: int) -> None:
    """Wait until the log of *path* grew *times* times: that many batches were committed."""
    log = path.with_name(path.name + ".wal")
    sizes: list[int] = []
    deadline = time.monotonic() + 200
    while time.monotonic() < deadline and process.poll() is None and len(sizes) < times:
        size = log.stat().st_size if log.exists() else 0
        if size and size not in sizes:
            sizes.append(size)
        time.sleep(0.01)
    assert process.poll() is None, process.communicate()


def servers_of(home: Path) -> list[int]:
    """Prefect servers of *home* that still run: a killed command cannot end its own."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get("PREFECT_HOME") == str(home / "prefect"):
                found.append(process.pid)
    return found


def measured_rows(home: Path) -> dict[str, int]:
    tables = ("text_embeddings", "text_word_sets", "text_pos_bigrams")
    with open_warehouse(work_path(home)) as connection:
        return {
            table: connection.execute(f"select count(*) from raw.{table}").fetchone()[0]  # noqa: S608
            for table in tables
        }


def marts_of(home: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every row of every mart but those that say when something ran."""
    connection = duckdb.connect(snapshot_path(home), read_only=True)
    names = connection.execute(
        "select table_name from duckdb_tables() where schema_name = 'marts' "
        "and table_name not in ('dim_runs', 'dim_publications') order by 1"
    ).fetchall()
    found = {
        name: connection.execute(f"select * from marts.{name} order by all").fetchall()  # noqa: S608
        for (name,) in names
    }
    connection.close()
    return found


@pytest.fixture(scope="module")
def ingested_home(small_study_home: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The shipped study, unpublished and half measured: several batches of each kind are left."""
    home = tmp_path_factory.mktemp("ingested") / "home"
    home.mkdir()
    shutil.copy(work_path(small_study_home), work_path(home))
    with open_warehouse(work_path(home)) as connection:
        for table in ("text_embeddings", "text_word_sets", "text_pos_bigrams"):
            connection.execute(f"delete from raw.{table} where text_id < '8'")  # noqa: S608
        connection.execute("delete from raw.publications")
        connection.execute("checkpoint")
    shutil.copytree(small_study_home / "prefect", home / "prefect")
    return home


def test_measuring_survives_ctrl_c_and_kill_and_ends_as_if_undisturbed(
    ingested_home: Path, small_study_home: Path
) -> None:
    before = measured_rows(ingested_home)
    stopped = start(ingested_home, "measure")
    wait_until_written(work_path(ingested_home), stopped, times=2)
    stopped.send_signal(signal.SIGINT)
    _, errors = stopped.communicate(timeout=200)
    assert stopped.returncode == 1
    assert "interrupted; what was finished is kept" in errors
    after_stop = measured_rows(ingested_home)
    assert after_stop["text_word_sets"] > before["text_word_sets"]

    killed = start(ingested_home, "measure")
    wait_until_written(work_path(ingested_home), killed, times=2)
    kill(killed)
    after_kill = measured_rows(ingested_home)
    assert all(after_kill[table] >= after_stop[table] for table in after_stop)
    complete = measured_rows(small_study_home)
    assert after_kill != complete

    finish(ingested_home, "measure")
    assert measured_rows(ingested_home) == complete
    assert servers_of(ingested_home) == []
    with open_warehouse(work_path(ingested_home)) as connection:
        statuses = connection.execute(
            "select status from raw.runs where command = 'measure' order by started_at"
        ).fetchall()
        # The key still finds every row: none of them is taken for new.
        rows = connection.execute("select * from raw.text_word_sets").to_arrow_table()
        assert upsert(connection, text_word_sets, rows) == 0
        assert connection.execute("select count(*) from raw.text_word_sets").fetchone() == (
            complete["text_word_sets"],
        )
    assert [status for (status,) in statuses][-3:] == ["interrupted", "interrupted", "done"]


def test_a_killed_build_leaves_the_snapshot_as_it_was_and_the_next_one_is_whole(
    small_study_home: Path, tmp_path: Path
) -> None:
    home = tmp_path / "home"
    home.mkdir()
    shutil.copy(work_path(small_study_home), work_path(home))
    shutil.copy(snapshot_path(small_study_home), snapshot_path(home))
    before = snapshot_path(home).read_bytes()
    with open_warehouse(work_path(home)) as connection:
        state = raw_state_id(connection)
        # A change that makes the snapshot out of date.
        connection.execute("update raw.studies set minimum_common_words = 19")
    killed = start(home, "build")
    log = home / "dbt" / "logs" / "dbt.log"
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and killed.poll() is None:
        # Some tables are built, and more than half of them are not.
        if log.exists() and log.read_text().count("OK created") > 20:
            break
        time.sleep(0.02)
    assert killed.poll() is None, killed.communicate()
    kill(killed)
    assert snapshot_path(home).read_bytes() == before

    with open_warehouse(work_path(home)) as connection:
        connection.execute("update raw.studies set minimum_common_words = 20")
        assert raw_state_id(connection) == state
        connection.execute("update raw.publications set build_code_id = 'older'")
    finish(home, "build")
    assert marts_of(home) == marts_of(small_study_home)
    publications = duckdb.connect(snapshot_path(home), read_only=True).execute(
        "select count(*) from marts.dim_publications"
    )
    assert publications.fetchone() == (2,)


@pytest.mark.parametrize("seconds", [0.3, 1.0, 4.0])
def test_ctrl_c_while_a_command_starts_or_works_is_one_sentence(
    small_study_home: Path, seconds: float
) -> None:
    """A query that would take hours is stopped while Python loads, and while it runs."""
    process = start(
        small_study_home,
        "query",
        "select sum(i * j) from range(1000000) a(i), range(1000000) b(j)",
    )
    time.sleep(seconds)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert output == ""
    if process.returncode == -signal.SIGINT:
        # The system ended it: on a busy machine Python itself had not started.
        assert errors == ""
        return
    assert process.returncode == 1
    assert len(errors.splitlines()) == 1
    assert errors.startswith("calibrary: interrupted")
