from __future__ import annotations

import random
import signal
import stat
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
import sqlalchemy as sa

from tests.warehouse.conftest import Process
from tests.warehouse.rows import MARTS
from warehouse.connection import open_snapshot, open_warehouse
from warehouse.errors import (
    PublicationError,
    WarehouseLockedError,
    WarehouseMissingError,
)
from warehouse.files import log_path, snapshot_path, work_path
from warehouse.publish import publish


def build(home: Path, edition: int, row_count: int = 10) -> None:
    """Stand in for a build: two marts that tell their edition, and what a killed dbt leaves."""
    with open_warehouse(work_path(home)) as connection:
        connection.execute("create schema if not exists marts")
        for name in ("fct_things", "dim_things", "fct_things__dbt_backup"):
            connection.execute(f"drop table if exists marts.{name}")
            connection.execute(
                f"create table marts.{name} as select range as thing_id, {edition} as edition, "  # noqa: S608
                f"[0.5, range] as points from range({row_count})"
            )
        connection.execute("comment on table marts.fct_things is 'One row per thing: 100% it''s'")
        connection.execute("comment on column marts.fct_things.edition is 'Which \"edition\", 50%'")


def editions(home: Path) -> set[int]:
    with open_snapshot(home) as connection:
        rows = connection.execute(
            "select edition from marts.fct_things union select edition from marts.dim_things"
        ).fetchall()
    return {row[0] for row in rows}


def names(home: Path) -> set[str]:
    return {path.name for path in home.iterdir()}


def test_the_snapshot_has_the_named_tables_and_no_others(tmp_path: Path) -> None:
    build(tmp_path, 1)
    assert publish(tmp_path, MARTS) == snapshot_path(tmp_path)
    with open_snapshot(tmp_path) as connection:
        tables = connection.execute(
            "select table_schema, table_name from information_schema.tables order by 2 desc"
        ).fetchall()
        rows = connection.execute("select * from marts.fct_things limit 2").fetchall()
    assert tables == MARTS
    assert rows == [(0, 1, [0.5, 0]), (1, 1, [0.5, 1])]
    assert names(tmp_path) == {"work.duckdb", "calibrary.duckdb"}


def test_the_snapshot_cannot_be_written(tmp_path: Path) -> None:
    build(tmp_path, 1)
    path = publish(tmp_path, MARTS)
    assert stat.S_IMODE(path.stat().st_mode) == 0o444
    with (
        open_snapshot(tmp_path) as connection,
        pytest.raises(duckdb.InvalidInputException, match="read-only"),
    ):
        connection.execute("delete from marts.fct_things")


def test_a_view_is_published_as_a_table_with_its_comment(tmp_path: Path) -> None:
    build(tmp_path, 1)
    with open_warehouse(work_path(tmp_path)) as connection:
        connection.execute("create view marts.seen as select thing_id from marts.fct_things")
        connection.execute("comment on view marts.seen is 'a view'")
    publish(tmp_path, [("marts", "seen")])
    with open_snapshot(tmp_path) as connection:
        tables = connection.execute("select table_name, comment from duckdb_tables()").fetchall()
        assert tables == [("seen", "a view")]
        assert connection.execute("select count(*) from marts.seen").fetchall() == [(10,)]


def test_sqlalchemy_reflects_tables_and_comments_of_the_snapshot(tmp_path: Path) -> None:
    build(tmp_path, 1)
    path = publish(tmp_path, MARTS)
    url = sa.URL.create("duckdb", database=str(path), query={"access_mode": "read_only"})
    engine = sa.create_engine(url, poolclass=sa.NullPool)
    inspector = sa.inspect(engine)
    assert set(inspector.get_table_names(schema="marts")) == {name for _, name in MARTS}
    things = sa.Table("fct_things", sa.MetaData(), schema="marts", autoload_with=engine)
    assert things.comment == "One row per thing: 100% it's"
    assert things.c.edition.comment == 'Which "edition", 50%'
    with engine.connect() as connection:
        statement = sa.select(sa.func.count()).where(things.c.edition == 1)
        assert connection.execute(statement).scalar_one() == 10
    engine.dispose()


def test_the_plain_url_of_the_readme_opens_the_snapshot(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    build(tmp_path, 1)
    publish(tmp_path, MARTS)
    monkeypatch.chdir(tmp_path)
    engine = sa.create_engine(
        "duckdb:///calibrary.duckdb", connect_args={"read_only": True}, poolclass=sa.NullPool
    )
    assert sa.inspect(engine).has_table("dim_things", schema="marts")


def test_a_reader_keeps_the_old_snapshot_while_the_new_one_appears(
    tmp_path: Path, start_python: Callable[..., Process]
) -> None:
    code = """
        import sys
        from pathlib import Path
        from warehouse.connection import open_snapshot
        def edition(connection):
            return connection.execute("select max(edition) from marts.fct_things").fetchone()[0]
        home = Path(sys.argv[1])
        with open_snapshot(home) as connection:
            print(edition(connection), flush=True)
            sys.stdin.readline()
            print(edition(connection), flush=True)
        with open_snapshot(home) as connection:
            print(edition(connection), flush=True)
    """
    build(tmp_path, 1)
    publish(tmp_path, MARTS)
    reader = start_python(code, tmp_path)
    assert reader.stdout is not None
    assert reader.stdout.readline() == "1\n"
    build(tmp_path, 2)
    publish(tmp_path, MARTS)
    output, errors = reader.communicate("go on\n", timeout=60)
    assert (output, errors) == ("1\n2\n", "")


def test_a_stale_log_of_the_old_snapshot_does_not_enter_the_new_one(
    tmp_path: Path, start_python: Callable[..., Process]
) -> None:
    code = """
        import duckdb, os, signal, sys
        connection = duckdb.connect(sys.argv[1])
        connection.execute("insert into marts.dim_things values (99, 99, [])")
        os.kill(os.getpid(), signal.SIGKILL)
    """
    build(tmp_path, 1)
    path = publish(tmp_path, MARTS)
    path.chmod(0o644)
    assert start_python(code, path).wait(timeout=60) == -signal.SIGKILL
    assert log_path(path).exists()
    build(tmp_path, 2)
    publish(tmp_path, MARTS)
    assert not log_path(path).exists()
    assert editions(tmp_path) == {2}


@pytest.mark.parametrize(
    "relations", [[*MARTS, ("marts", "fct_absent")], [("staging", "fct_things")], []]
)
def test_a_missing_relation_is_named_and_the_old_snapshot_stays(
    tmp_path: Path, relations: list[tuple[str, str]]
) -> None:
    build(tmp_path, 1)
    path = publish(tmp_path, MARTS)
    before = path.read_bytes()
    build(tmp_path, 2)
    with pytest.raises(PublicationError, match=r"fct_absent|staging\.fct_things|got none"):
        publish(tmp_path, relations)
    assert path.read_bytes() == before
    assert names(tmp_path) == {"work.duckdb", "calibrary.duckdb"}


def test_publishing_needs_a_work_file(tmp_path: Path) -> None:
    with pytest.raises(WarehouseMissingError, match="calibrary run"):
        publish(tmp_path, MARTS)


def test_publishing_while_another_process_writes_names_it(
    tmp_path: Path, start_python: Callable[..., Process]
) -> None:
    code = """
        import sys, time
        from pathlib import Path
        from warehouse.connection import open_warehouse
        with open_warehouse(Path(sys.argv[1])):
            print("open", flush=True)
            time.sleep(60)
    """
    build(tmp_path, 1)
    holder = start_python(code, work_path(tmp_path))
    assert holder.stdout is not None
    assert holder.stdout.readline() == "open\n"
    with pytest.raises(WarehouseLockedError, match=f"process {holder.pid} ") as caught:
        publish(tmp_path, MARTS)
    assert "work.duckdb" in str(caught.value)
    assert names(tmp_path) == {"work.duckdb"}


def test_killing_publication_anywhere_leaves_the_old_snapshot_or_the_whole_new_one(
    tmp_path: Path, start_python: Callable[..., Process]
) -> None:
    code = """
        import sys
        from pathlib import Path
        from tests.warehouse.rows import MARTS
        from warehouse.publish import publish
        print("go", flush=True)
        publish(Path(sys.argv[1]), MARTS)
    """
    build(tmp_path, 1, row_count=300_000)
    path = publish(tmp_path, MARTS)
    build(tmp_path, 2, row_count=300_000)
    before = path.read_bytes()
    rng = random.Random(3)  # noqa: S311
    for _ in range(3):
        process = start_python(code, tmp_path)
        assert process.stdout is not None
        process.stdout.readline()
        time.sleep(rng.uniform(0, 0.3))
        process.kill()
        process.wait()
        # A half-written file under another name is never picked up.
        found = editions(tmp_path)
        assert found in ({1}, {2})
        if found == {1}:
            assert path.read_bytes() == before
    publish(tmp_path, MARTS)
    assert editions(tmp_path) == {2}
    assert names(tmp_path) == {"work.duckdb", "calibrary.duckdb"}


def test_leftovers_of_a_killed_publication_are_removed_and_those_of_a_living_one_stay(
    tmp_path: Path, start_python: Callable[..., Process]
) -> None:
    living = start_python("import time; time.sleep(60)")
    dead = start_python("pass")
    dead.wait(timeout=60)
    kept = tmp_path / f"calibrary.duckdb.publishing-{living.pid}-0123abcd"
    gone = tmp_path / f"calibrary.duckdb.publishing-{dead.pid}-0123abcd"
    for path in (kept, gone, log_path(gone)):
        path.write_bytes(b"half")
    build(tmp_path, 1)
    publish(tmp_path, MARTS)
    assert names(tmp_path) == {"work.duckdb", "calibrary.duckdb", kept.name}


def test_a_full_disk_leaves_the_old_snapshot_and_nothing_else(
    tmp_path: Path, start_python: Callable[..., Process]
) -> None:
    code = """
        import resource, sys
        from pathlib import Path
        from tests.warehouse.rows import MARTS
        from warehouse.errors import DiskFullError
        from warehouse.publish import publish
        resource.setrlimit(resource.RLIMIT_FSIZE, (600_000, resource.RLIM_INFINITY))
        try:
            publish(Path(sys.argv[1]), MARTS)
        except DiskFullError as error:
            print(error)
    """
    build(tmp_path, 1)
    path = publish(tmp_path, MARTS)
    before = path.read_bytes()
    build(tmp_path, 2, row_count=300_000)
    output, errors = start_python(code, tmp_path).communicate(timeout=60)
    assert errors == ""
    assert "the disk must have room for" in output
    assert path.read_bytes() == before
    assert names(tmp_path) == {"work.duckdb", "calibrary.duckdb"}


def test_a_moved_home_still_opens(tmp_path: Path) -> None:
    home = tmp_path / "here"
    build(home, 1)
    publish(home, MARTS)
    moved = home.rename(tmp_path / "there")
    assert editions(moved) == {1}
    build(moved, 2)
    publish(moved, MARTS)
    assert editions(moved) == {2}


def test_a_plain_connection_to_the_snapshot_asks_a_sketch_for_any_temperature(
    tmp_path: Path,
) -> None:
    """A sketch of zeros says log Z = 0, so that a confidence c becomes c^β."""
    with open_warehouse(work_path(tmp_path)) as connection:
        connection.execute("create schema marts")
        connection.execute(
            "create table marts.fct_scored_tokens as select 0.25 as confidence, "
            "[0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]::integer[] as temperature_sketch"
        )
    publish(tmp_path, [("marts", "fct_scored_tokens")])
    with duckdb.connect(snapshot_path(tmp_path), read_only=True) as connection:
        asked = "select confidence_at(2.0), confidence_at(0.5) from marts.fct_scored_tokens"
        assert connection.execute(asked).fetchall() == [(0.5, 0.0625)]
        with pytest.raises(duckdb.InvalidInputException, match="tau must be in"):
            connection.execute("select confidence_at(3.0) from marts.fct_scored_tokens").fetchall()
