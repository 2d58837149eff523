from __future__ import annotations

import errno
import os
import random
import signal
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest

from tests.warehouse.conftest import Process
from tests.warehouse.rows import text
from warehouse.connection import open_snapshot, open_warehouse
from warehouse.errors import (
    DiskFullError,
    WarehouseDamagedError,
    WarehouseError,
    WarehouseLockedError,
    WarehouseMissingError,
)
from warehouse.faults import translated
from warehouse.files import SMALLEST_WHOLE_FILE, is_absent, log_path, snapshot_path
from warehouse.schema import metadata, texts
from warehouse.writers import upsert

HOLD = """
    import sys, time
    from pathlib import Path
    from warehouse.connection import open_warehouse
    with open_warehouse(Path(sys.argv[1]), read_only=sys.argv[2] == "read") as connection:
        print("open", flush=True)
        time.sleep(60)
"""


def table_names(path: Path) -> set[str]:
    with duckdb.connect(path, read_only=True) as connection:
        rows = connection.execute(
            "select table_name from information_schema.tables where table_schema = 'raw'"
        ).fetchall()
    return {row[0] for row in rows}


def test_the_first_opening_makes_every_raw_table_and_leaves_one_file(work: Path) -> None:
    with open_warehouse(work):
        pass
    assert table_names(work) == {table.name for table in metadata.sorted_tables}
    assert [path.name for path in work.parent.iterdir()] == [work.name]


def test_a_second_opening_finds_what_the_first_wrote(work: Path) -> None:
    with open_warehouse(work) as connection:
        upsert(connection, texts, [text("a", "one two")])
    with open_warehouse(work, read_only=True) as connection:
        assert connection.execute("select text from raw.texts").fetchall() == [("one two",)]


def test_leaving_writes_everything_into_the_file_itself(work: Path) -> None:
    with open_warehouse(work) as connection:
        upsert(connection, texts, [text("a", "one two")])
    assert not log_path(work).exists()


def test_read_only_makes_no_file(work: Path) -> None:
    with (
        pytest.raises(WarehouseMissingError, match="found none"),
        open_warehouse(work, read_only=True),
    ):
        pass
    assert not work.exists()


@pytest.mark.parametrize("size", [0, 4096, 8192])
def test_a_file_whose_creation_was_interrupted_counts_as_absent_and_is_said_so(
    work: Path, size: int, caplog: pytest.LogCaptureFixture
) -> None:
    work.write_bytes(bytes(size))
    with open_warehouse(work):
        pass
    assert table_names(work)
    assert "interrupted" in caplog.text


def test_an_empty_duckdb_file_is_not_shorter_than_the_limit(tmp_path: Path) -> None:
    # The limit must never make a finished file count as absent.
    path = tmp_path / "empty.duckdb"
    duckdb.connect(path).close()
    assert path.stat().st_size >= SMALLEST_WHOLE_FILE


@pytest.mark.parametrize(
    "content", [b"notes", b"not a database" * 2000, bytes(SMALLEST_WHOLE_FILE)]
)
def test_another_unreadable_file_is_refused_and_kept(work: Path, content: bytes) -> None:
    work.write_bytes(content)
    with pytest.raises(WarehouseDamagedError, match="move it away"), open_warehouse(work):
        pass
    assert work.read_bytes() == content


def test_a_database_without_raw_tables_is_refused_and_kept(work: Path) -> None:
    with duckdb.connect(work) as connection:
        connection.execute("create table mine as select 42 as answer")
    with pytest.raises(WarehouseDamagedError, match="another database"), open_warehouse(work):
        pass
    with duckdb.connect(work) as connection:
        assert connection.execute("select answer from mine").fetchall() == [(42,)]


def test_a_file_cut_short_is_damaged_when_it_is_read(work: Path) -> None:
    with open_warehouse(work) as connection:
        rows = [text(f"{index:032x}", f"{index}" * 50) for index in range(20_000)]
        upsert(connection, texts, rows)
    os.truncate(work, work.stat().st_size // 2)
    with (
        pytest.raises(WarehouseDamagedError, match="nothing was deleted"),
        open_warehouse(work) as connection,
    ):
        connection.execute("select max(text) from raw.texts").fetchall()


def test_a_log_without_its_file_is_refused_and_kept(work: Path) -> None:
    # DuckDB would replay it into the new file without a word.
    log_path(work).write_bytes(b"changes of a lost file")
    with pytest.raises(WarehouseDamagedError, match="write-ahead log"), open_warehouse(work):
        pass
    assert log_path(work).read_bytes() == b"changes of a lost file"
    assert not work.exists()


def test_a_question_mark_in_the_path_is_refused(tmp_path: Path) -> None:
    # DuckDB would look for the log of "/a?b/work.duckdb" at "/a.wal?b/work.duckdb".
    path = tmp_path / "what?" / "work.duckdb"
    with pytest.raises(WarehouseError, match="question mark"), open_warehouse(path):
        pass


def test_a_path_with_signs_that_urls_and_sql_use_is_a_path(tmp_path: Path) -> None:
    path = tmp_path / 'it\'s 50% #1 & "more"' / "work.duckdb"
    with open_warehouse(path):
        pass
    assert table_names(path)


@pytest.mark.parametrize("holder_mode", ["read", "write"])
def test_a_file_held_by_another_process_names_it_and_the_remedy(
    work: Path, start_python: Callable[..., Process], holder_mode: str
) -> None:
    with open_warehouse(work):
        pass
    holder = start_python(HOLD, work, holder_mode)
    assert holder.stdout is not None
    assert holder.stdout.readline() == "open\n"
    with pytest.raises(WarehouseLockedError) as caught, open_warehouse(work):
        pass
    sentence = str(caught.value)
    assert f"process {holder.pid} (" in sentence
    assert "python" in sentence
    assert "calibrary query" in sentence
    assert str(work) in sentence
    assert "\n" not in sentence


def test_a_second_mode_in_the_same_process_is_refused_in_a_sentence(work: Path) -> None:
    with (
        open_warehouse(work),
        pytest.raises(WarehouseLockedError, match="in another"),
        open_warehouse(work, read_only=True),
    ):
        pass
    with open_warehouse(work, read_only=True):
        pass


def test_processes_that_open_at_once_in_a_fresh_home_share_one_file_and_lose_nothing(
    work: Path, start_python: Callable[..., Process]
) -> None:
    code = """
        import sys, time
        from pathlib import Path
        from tests.warehouse.rows import text
        from warehouse.connection import open_warehouse
        from warehouse.errors import WarehouseLockedError
        from warehouse.schema import texts
        from warehouse.writers import upsert
        while True:
            try:
                with open_warehouse(Path(sys.argv[1])) as connection:
                    upsert(connection, texts, [text(sys.argv[2], "words")])
                break
            except WarehouseLockedError:
                time.sleep(0.02)
    """
    processes = [start_python(code, work, name) for name in "abc"]
    for process in processes:
        assert process.wait(timeout=60) == 0, process.communicate()
    with open_warehouse(work, read_only=True) as connection:
        rows = connection.execute("select text_id from raw.texts order by 1").fetchall()
    assert rows == [("a",), ("b",), ("c",)]


def test_killing_the_creation_anywhere_leaves_no_file_or_a_whole_one(
    tmp_path: Path, start_python: Callable[..., Process]
) -> None:
    code = """
        import sys
        from pathlib import Path
        from warehouse.connection import open_warehouse
        print("go", flush=True)
        with open_warehouse(Path(sys.argv[1])):
            print("open", flush=True)
    """
    rng = random.Random(7)  # noqa: S311
    for attempt in range(4):
        path = tmp_path / f"home-{attempt}" / "work.duckdb"
        process = start_python(code, path)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.15))  # creation takes about 0.1 s
        process.kill()
        process.wait()
        assert is_absent(path) or table_names(path)
        with open_warehouse(path):
            pass
        assert [found.name for found in path.parent.iterdir()] == ["work.duckdb"]


def test_readers_open_what_a_killed_writer_left(
    work: Path, start_python: Callable[..., Process]
) -> None:
    code = """
        import os, signal, sys
        from pathlib import Path
        from tests.warehouse.rows import text
        from warehouse.connection import open_warehouse
        from warehouse.schema import texts
        from warehouse.writers import upsert
        with open_warehouse(Path(sys.argv[1])) as connection:
            upsert(connection, texts, [text("a", "kept")])
            connection.begin()
            connection.execute("update raw.texts set text = 'lost'")
            os.kill(os.getpid(), signal.SIGKILL)
    """
    assert start_python(code, work).wait(timeout=60) == -signal.SIGKILL
    assert log_path(work).exists()
    with open_warehouse(work, read_only=True) as connection:
        assert connection.execute("select text from raw.texts").fetchall() == [("kept",)]


def test_ctrl_c_during_a_query_is_a_keyboard_interrupt(
    work: Path, start_python: Callable[..., Process]
) -> None:
    code = """
        import sys
        from pathlib import Path
        from warehouse.connection import open_warehouse
        try:
            with open_warehouse(Path(sys.argv[1])) as connection:
                print("open", flush=True)
                connection.execute("select sum(hash(md5(range::varchar))) from range(100000000000)")
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """
    process = start_python(code, work)
    assert process.stdout is not None
    assert process.stdout.readline() == "open\n"
    time.sleep(1)
    process.send_signal(signal.SIGINT)
    output, errors = process.communicate(timeout=60)
    assert (output, errors, process.returncode) == ("interrupted\n", "", 0)
    with open_warehouse(work):
        pass


FILL = """
    import random, resource, sys
    from pathlib import Path
    from tests.warehouse.rows import text
    from warehouse.connection import open_warehouse
    from warehouse.errors import DiskFullError
    from warehouse.schema import texts
    from warehouse.writers import upsert

    def allow(byte_count):
        resource.setrlimit(resource.RLIMIT_FSIZE, (byte_count, resource.RLIM_INFINITY))

    path, stage = Path(sys.argv[1]), sys.argv[2]
    allow(20_000 if stage == "creating" else 3_000_000)
    try:
        with open_warehouse(path) as connection:
            for start in range(0, 200 if stage == "leaving" else 20_000, 100):
                rows = [
                    text(f"{index:032x}", random.Random(index).randbytes(4_000).hex())
                    for index in range(start, start + 100)
                ]
                upsert(connection, texts, rows)
                print(start + 100, flush=True)
            allow(path.stat().st_size)
    except DiskFullError as error:
        print(error, flush=True)
"""


@pytest.mark.parametrize("stage", ["creating", "writing", "leaving"])
def test_a_full_disk_is_one_sentence_and_loses_no_committed_batch(
    work: Path, start_python: Callable[..., Process], stage: str
) -> None:
    # A limit on the size of a file stands in for the full disk: the write fails in the same place.
    process = start_python(FILL, work, stage)
    output, errors = process.communicate(timeout=120)
    assert errors == ""
    lines = output.splitlines()
    assert "the disk must have room for" in lines[-1]
    assert "free some space" in lines[-1]
    with open_warehouse(work) as connection:
        row = connection.execute("select count(*) from raw.texts").fetchone()
    committed = [int(line) for line in lines if line.isdigit()]
    assert row == (committed[-1] if committed else 0,)
    assert bool(committed) == (stage != "creating")


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_the_system_s_words_for_a_full_disk_mean_the_same(work: Path, code: int) -> None:
    with pytest.raises(DiskFullError), translated(work):
        raise OSError(code, os.strerror(code))


def test_faults_of_other_files_are_not_blamed_on_the_warehouse(work: Path, tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError), open_warehouse(work):
        (tmp_path / "absent.jsonl").read_text(encoding="utf-8")
    with (
        pytest.raises(duckdb.IOException, match=r"absent\.csv"),
        open_warehouse(work) as connection,
    ):
        connection.execute("from read_csv('absent.csv')")
    with pytest.raises(RuntimeError, match="something else"), open_warehouse(work):
        raise RuntimeError("something else")


def test_a_missing_snapshot_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(WarehouseMissingError, match="calibrary run"), open_snapshot(tmp_path):
        pass


def test_a_snapshot_that_is_no_database_is_damaged(tmp_path: Path) -> None:
    snapshot_path(tmp_path).write_bytes(b"x" * 20_000)
    with pytest.raises(WarehouseDamagedError), open_snapshot(tmp_path):
        pass


def test_a_memory_limit_holds_for_the_connection(work: Path) -> None:
    with open_warehouse(work, memory_limit="300MiB") as connection:
        row = connection.execute("select current_setting('memory_limit')").fetchone()
    assert row == ("300.0 MiB",)
