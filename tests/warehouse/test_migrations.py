from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import closing
from datetime import datetime
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tests.warehouse.conftest import Process
from tests.warehouse.rows import text
from udfs.stored_sketches import AHEAD_SKETCH_BITS, SKETCH_BITS, stored_sketch
from warehouse.connection import open_warehouse
from warehouse.errors import WarehouseError, WarehouseNewerError
from warehouse.files import log_path
from warehouse.migrations import STEPS as ALL_STEPS
from warehouse.migrations import is_current, migrate
from warehouse.schema import SCHEMA_VERSION, scored_tokens, texts
from warehouse.writers import upsert


def add_language(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("alter table raw.texts add column language_name varchar")


def add_author(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("alter table raw.texts add column author_name varchar default 'nobody'")


def fail(connection: duckdb.DuckDBPyConnection) -> None:
    connection.execute("alter table raw.texts add column half_done integer")
    raise ValueError("a step that fails")


STEPS = {SCHEMA_VERSION + 1: add_language, SCHEMA_VERSION + 2: add_author}
LATEST = SCHEMA_VERSION + 2


@pytest.fixture
def made(work: Path) -> Path:
    with open_warehouse(work) as connection:
        upsert(connection, texts, [text("a", "kept through it all")])
    return work


def versions(path: Path) -> list[int]:
    with closing(duckdb.connect(path, read_only=True)) as connection:
        rows = connection.execute("select version from raw.schema_versions order by 1").fetchall()
    return [row[0] for row in rows]


def columns(path: Path) -> list[str]:
    with closing(duckdb.connect(path, read_only=True)) as connection:
        return connection.table("raw.texts").columns


def test_a_new_file_is_of_the_current_version(made: Path) -> None:
    assert versions(made) == [SCHEMA_VERSION]


def test_an_older_file_is_carried_forward_step_by_step_and_keeps_its_rows(made: Path) -> None:
    migrate(made, STEPS, LATEST)
    assert versions(made) == [SCHEMA_VERSION, SCHEMA_VERSION + 1, LATEST]
    assert columns(made)[-2:] == ["language_name", "author_name"]
    with closing(duckdb.connect(made)) as connection:
        row = connection.execute(
            "select text, language_name, author_name from raw.texts"
        ).fetchone()
    assert row == ("kept through it all", None, "nobody")


def test_the_file_is_copied_before_the_first_step(made: Path) -> None:
    migrate(made, STEPS, LATEST)
    copy = made.with_name(f"{made.name}.version-{SCHEMA_VERSION}")
    assert versions(copy) == [SCHEMA_VERSION]
    assert "language_name" not in columns(copy)
    assert [path.name for path in made.parent.glob("*.part")] == []


def test_the_copy_has_what_was_only_in_the_write_ahead_log(
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
            upsert(connection, texts, [text("a", "in the log")])
            os.kill(os.getpid(), signal.SIGKILL)
    """
    assert start_python(code, work).wait(timeout=60) == -signal.SIGKILL
    assert log_path(work).exists()
    migrate(work, STEPS, LATEST)
    copy = work.with_name(f"{work.name}.version-{SCHEMA_VERSION}")
    with closing(duckdb.connect(copy, read_only=True)) as connection:
        assert connection.execute("select text from raw.texts").fetchall() == [("in the log",)]


def test_a_current_file_is_neither_copied_nor_changed(made: Path) -> None:
    before = made.read_bytes()
    migrate(made)
    assert made.read_bytes() == before
    assert [path.name for path in made.parent.iterdir()] == [made.name]


def test_a_failing_step_leaves_the_version_before_it_and_the_next_try_goes_on(made: Path) -> None:
    with pytest.raises(ValueError, match="a step that fails"):
        migrate(made, {**STEPS, LATEST: fail}, LATEST)
    assert versions(made) == [SCHEMA_VERSION, SCHEMA_VERSION + 1]
    assert "half_done" not in columns(made)
    migrate(made, STEPS, LATEST)
    assert versions(made)[-1] == LATEST


def test_a_kill_right_after_a_step_leaves_a_file_that_opens_and_goes_on(
    made: Path, start_python: Callable[..., Process]
) -> None:
    code = """
        import os, signal, sys
        from pathlib import Path
        from tests.warehouse.test_migrations import STEPS, LATEST, add_author
        from warehouse.migrations import migrate
        def add_author_and_die(connection):
            add_author(connection)
            os.kill(os.getpid(), signal.SIGKILL)
        migrate(Path(sys.argv[1]), {**STEPS, LATEST: add_author_and_die}, LATEST)
    """
    assert start_python(code, made).wait(timeout=60) == -signal.SIGKILL
    assert not log_path(made).exists() or log_path(made).stat().st_size < 1000
    migrate(made, STEPS, LATEST)
    assert versions(made) == [SCHEMA_VERSION, SCHEMA_VERSION + 1, LATEST]
    assert columns(made)[-2:] == ["language_name", "author_name"]


@pytest.mark.parametrize("read_only", [False, True])
def test_a_newer_file_is_refused_with_the_remedy_and_left_as_it_is(
    made: Path, read_only: bool
) -> None:
    migrate(made, STEPS, LATEST)
    before = made.read_bytes()
    with (
        pytest.raises(WarehouseNewerError, match=f"got version {LATEST}.*upgrade"),
        open_warehouse(made, read_only=read_only),
    ):
        pass
    assert made.read_bytes() == before


def test_an_older_file_opened_read_only_is_refused_and_not_migrated(made: Path) -> None:
    with (
        closing(duckdb.connect(made, read_only=True)) as connection,
        pytest.raises(WarehouseError, match="brings it up to date"),
    ):
        is_current(connection, made, read_only=True, target_version=LATEST)
    assert versions(made) == [SCHEMA_VERSION]


TIMES = (datetime(2026, 1, 1), datetime(2026, 1, 2))  # noqa: DTZ001 - stored without a zone

VERSION_1 = Path(__file__).parent / "version_1.sql"
"""The tables as version 1 made them, written down when version 2 came."""


def described(path: Path) -> list[list[tuple[object, ...]]]:
    """Columns, checks, keys and comments of every raw table."""
    questions = (
        "select table_name, column_name, data_type, is_nullable, column_default, comment "
        "from duckdb_columns() where schema_name = 'raw' order by all",
        "select table_name, constraint_type, constraint_text from duckdb_constraints() "
        "where schema_name = 'raw' order by all",
        "select table_name, comment from duckdb_tables() where schema_name = 'raw' order by all",
    )
    with closing(duckdb.connect(path, read_only=True)) as connection:
        return [connection.execute(question).fetchall() for question in questions]


@pytest.fixture
def version_1(tmp_path: Path) -> Path:
    path = tmp_path / "version_1.duckdb"
    with closing(duckdb.connect(path)) as connection:
        connection.execute(VERSION_1.read_text(encoding="utf-8"))
        connection.execute(
            "insert into raw.schema_versions values (1, timestamp '2026-01-01', '0.1.0')"
        )
        connection.execute(
            "insert into raw.ingests values ('i', 's', 'stories', 'f', 'hash', '{}', 'done', 3, "
            "timestamp '2026-01-01', timestamp '2026-01-02')"
        )
        connection.execute(
            "insert into raw.rejects values ('gone', 's', 'story', 'empty_story', 'no word', "
            "'p', 'x', 'f', 3, 'i', null)"
        )
        connection.execute(
            "insert into raw.stories by name select 's' as study_name, 'x' as story_id, "
            "'p' as prompt_id, 'human' as story_kind, 'human' as story_source_name, "
            "'ok' as status, 'i' as ingest_id"
        )
    return path


def test_a_file_of_version_1_becomes_what_a_new_one_is_and_keeps_its_rows(
    version_1: Path, made: Path
) -> None:
    migrate(version_1)
    assert described(version_1) == described(made)
    assert versions(version_1) == list(range(1, SCHEMA_VERSION + 1))
    with closing(duckdb.connect(version_1)) as connection:
        assert connection.execute("select * from raw.ingests").fetchall() == [
            ("i", "s", "stories", "f", "hash", "{}", "done", 3, *TIMES)
        ]
        gone = connection.execute("select reject_id, line_number from raw.rejects").fetchall()
        assert gone == [("gone", 3)]
        row = connection.execute("select story_id, failure from raw.stories").fetchone()
        assert row == ("x", None)
        connection.execute("update raw.ingests set status = 'superseded'")
        with pytest.raises(duckdb.ConstraintException):
            connection.execute("insert into raw.ingests select * from raw.ingests")


def test_a_kill_right_after_the_step_to_version_2_leaves_a_file_that_goes_on(
    version_1: Path, made: Path, start_python: Callable[..., Process]
) -> None:
    code = """
        import os, signal, sys
        from pathlib import Path
        from warehouse.migrations import STEPS, migrate
        def step_and_die(connection):
            STEPS[2](connection)
            os.kill(os.getpid(), signal.SIGKILL)
        migrate(Path(sys.argv[1]), {2: step_and_die}, 2)
    """
    assert start_python(code, version_1).wait(timeout=60) == -signal.SIGKILL
    migrate(version_1)
    assert described(version_1) == described(made)


def test_sketches_of_version_5_become_integers_and_no_token_is_lost(version_1: Path) -> None:
    migrate(version_1, ALL_STEPS, 5)
    rng = np.random.default_rng(5)
    falling = rng.normal(size=(2, 40, 16)).astype(np.float32) * np.float32(0.5) ** np.arange(16)
    sketch, ahead = falling.astype(np.float32).tolist()
    tokens = [
        {"token_index": index, "temperature_sketch": row, "mass_ahead_sketch": other}
        for index, (row, other) in enumerate(
            zip([*sketch, None, sketch[0]], [*ahead, None, None], strict=True)
        )
    ]
    with closing(duckdb.connect(version_1)) as connection:
        connection.executemany(
            "insert into raw.scored_tokens by name select 's' as scoring_id, 'd' as document_id, "
            "$token_index as token_index, 0.5 as confidence, true as is_hit, "
            "0.1::double as mass_ahead, 0.1::double as entropy_nats, "
            "$temperature_sketch::float[] as temperature_sketch, "
            "$mass_ahead_sketch::float[] as mass_ahead_sketch",
            tokens,
        )
    migrate(version_1)
    with closing(duckdb.connect(version_1)) as connection:
        found = connection.execute(
            "select temperature_sketch, mass_ahead_sketch from raw.scored_tokens "
            "order by token_index"
        ).fetchall()
        others = "select distinct confidence, mass_ahead, entropy_nats from raw.scored_tokens"
        assert connection.execute(others).fetchall() == [(0.5, 0.1, np.float32(0.1))]
    assert found == [
        *zip(
            stored_sketch(sketch, SKETCH_BITS).tolist(),
            stored_sketch(ahead, AHEAD_SKETCH_BITS).tolist(),
            strict=True,
        ),
        (None, None),
        (stored_sketch(sketch[:1], SKETCH_BITS)[0].tolist(), None),
    ]


def test_tokens_of_version_7_keep_every_column_and_lose_their_index(version_1: Path) -> None:
    migrate(version_1, ALL_STEPS, 7)
    token = {
        "scoring_id": "s", "document_id": "d", "token_index": 1, "sentence_index": 2,
        "position": 3, "context_token_count": 4, "token_id": 5, "top_token_id": 6,
        "outcome_label": "it", "top_label": "is", "confidence": 0.5, "is_hit": True,
        "log_probability_nats": -0.25, "entropy_nats": 0.75, "rank": 7, "mass_ahead": 0.125,
        "kept_mass": 0.9375, "prediction_set_size": 8, "byte_count": 9, "is_unknown": False,
        "is_across_join": True, "temperature_sketch": list(range(16)),
        "mass_ahead_sketch": list(range(16, 32)),
    }  # fmt: skip
    assert list(token) == [column.name for column in scored_tokens.columns]
    upsert_all = "insert into raw.scored_tokens by name select * from incoming"
    with closing(duckdb.connect(version_1)) as connection:
        connection.register("incoming", pa.Table.from_pylist([token]))
        connection.execute(upsert_all)
        with pytest.raises(duckdb.ConstraintException, match="violates primary key"):
            connection.execute(upsert_all)
    migrate(version_1)
    with closing(duckdb.connect(version_1)) as connection:
        found = connection.execute("select * from raw.scored_tokens").to_arrow_table().to_pylist()
        keys = connection.execute(
            "select constraint_text from duckdb_constraints() where table_name = 'scored_tokens' "
            "and constraint_type = 'PRIMARY KEY'"
        ).fetchall()
    assert found == [token]
    assert keys == []
