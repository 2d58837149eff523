"""One built work file for all tests of the dbt project."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import pytest

from tests.conftest import made_once
from tests.dbt.raw_studies import (
    all_studies,
    earlier_publication,
    feature_rows,
)
from tests.dbt.trained_study import write_trained_study
from warehouse import schema
from warehouse.connection import open_warehouse, snapshot_path
from warehouse.measurements import Feature, missing_cuts
from warehouse.writers import upsert

DBT_PROJECT = Path(__file__).resolve().parents[2] / "dbt_project"
FEATURE_TABLES = {
    Feature.EMBEDDING: "text_embeddings",
    Feature.WORD_SET: "text_word_sets",
    Feature.POS_BIGRAMS: "text_pos_bigrams",
}

Dbt = Callable[..., None]


def run_dbt(work_file: Path, *command: str) -> None:
    """Run dbt in a process of its own, from a folder that is not the project's."""
    folder = work_file.parent
    program = Path(sys.executable).with_name("dbt")
    places = {
        "--project-dir": DBT_PROJECT,
        "--profiles-dir": DBT_PROJECT,
        "--target-path": folder / "target",
    }
    options = [str(part) for option in places.items() for part in option]
    result = subprocess.run(
        [program, "--log-path", folder / "logs", *command, *options],
        cwd=folder,
        env=os.environ | {"CALIBRARY_WORK_PATH": str(work_file), "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout[-4000:] + result.stderr[-1000:]


@pytest.fixture(scope="session")
def dbt() -> Dbt:
    return run_dbt


def write_studies(work_file: Path, *, is_reversed: bool = False) -> None:
    """Write the raw rows of all studies and the features that the program says they need."""
    with open_warehouse(work_file) as connection:
        for rows in all_studies():
            rows.write(connection, is_reversed=is_reversed)
        earlier_publication().write(connection, is_reversed=is_reversed)
        write_trained_study(connection)
        texts = dict(connection.execute("select text_id, text from raw.texts").fetchall())
        studies = connection.execute("select study_name from raw.studies").fetchall()
        for (study_name,) in studies:
            for feature, table_name in FEATURE_TABLES.items():
                cuts = missing_cuts(connection, study_name, feature)
                features = [
                    feature_rows(texts[cut.text_id], cut.word_limit)[table_name] for cut in cuts
                ]
                if features:
                    upsert(
                        connection,
                        getattr(schema, table_name),
                        features[::-1] if is_reversed else features,
                    )


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The work file with every model built and every dbt test passed; no test may change it."""

    def make(folder: Path) -> None:
        folder.mkdir()
        write_studies(folder / "work.duckdb")
        run_dbt(folder / "work.duckdb", "build")
        (folder / "is_built").touch()

    made = made_once(tmp_path_factory, "built_studies", make, "is_built")
    return made / "work.duckdb"


@pytest.fixture(scope="session")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another work file: the same raw rows, written in another order and built again."""
    work_file = tmp_path_factory.mktemp("rebuilt") / "work.duckdb"
    write_studies(work_file, is_reversed=True)
    run_dbt(work_file, "build", "--resource-type", "seed", "--resource-type", "model")
    return work_file


@pytest.fixture
def marts(built: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A plain connection, which knows no UDF."""
    with duckdb.connect(built, read_only=True) as connection:
        yield connection


@pytest.fixture(scope="session")
def released(real_home: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """The marts of GCV's released vectors: what the snapshot says of that study alone."""
    with duckdb.connect() as connection:
        connection.execute(f"attach '{snapshot_path(real_home)}' as snapshot (read_only)")
        connection.execute("create schema marts")
        names = connection.execute(
            "select table_name from duckdb_columns() where database_name = 'snapshot' "
            "and schema_name = 'marts' and column_name = 'study_name'"
        ).fetchall()
        for (name,) in names:
            connection.execute(
                f"create view marts.{name} as select * from snapshot.marts.{name} "  # noqa: S608
                "where study_name = 'uncertain_human'"
            )
        yield connection
