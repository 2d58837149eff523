"""One built work file for all tests of the dbt project."""

from __future__ import annotations

import csv
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.dbt.raw_studies import (
    all_studies,
    feature_rows,
    ingest_row,
    prompt_row,
    study_row,
    vector_row,
)
from tests.dbt.trained_study import write_trained_study
from warehouse import schema
from warehouse.connection import open_warehouse
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
    """The work file with every model built and every dbt test passed."""
    work_file = tmp_path_factory.mktemp("built") / "work.duckdb"
    write_studies(work_file)
    run_dbt(work_file, "build")
    return work_file


@pytest.fixture(scope="session")
def rebuilt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Another work file: the same raw rows, written in another order and built again."""
    work_file = tmp_path_factory.mktemp("rebuilt") / "work.duckdb"
    write_studies(work_file, is_reversed=True)
    run_dbt(work_file, "seed")
    run_dbt(work_file, "run")
    return work_file


@pytest.fixture
def marts(built: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A plain connection, which knows no UDF."""
    with duckdb.connect(built, read_only=True) as connection:
        yield connection


AXES = ("semantic", "lexical", "syntactic")
RELEASED = "released"


def released_rows(path: Path) -> list[dict[str, Any]]:
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    with path.open(encoding="utf-8", newline="") as file:
        for line in csv.DictReader(file):
            prompt_id = line["prompt_id"]
            for source, side in ((f"{line['model']}/{line['strategy']}", "model"), ("human",) * 2):
                vector = [line[f"{side}_{axis}_diversity"] for axis in AXES]
                rows[prompt_id, source] = vector_row(RELEASED, prompt_id, source, vector)
    return list(rows.values())


@pytest.fixture(scope="session")
def released(
    shared_data: Path, tmp_path_factory: pytest.TempPathFactory, dbt: Dbt
) -> Iterator[duckdb.DuckDBPyConnection]:
    """The marts of GCV's released vectors, as a study of their own."""
    work_file = tmp_path_factory.mktemp("released") / "work.duckdb"
    vectors = released_rows(shared_data / "uncertain_human" / "uncertainty_analysis.csv")
    prompts = {row["prompt_id"] for row in vectors}
    with open_warehouse(work_file) as connection:
        upsert(connection, schema.studies, [study_row(RELEASED)])
        upsert(connection, schema.ingests, [ingest_row("vectors", RELEASED, "diversity_vectors")])
        upsert(
            connection,
            schema.prompts,
            [
                prompt_row(RELEASED, int(prompt_id), "vectors") | {"prompt_id": prompt_id}
                for prompt_id in prompts
            ],
        )
        upsert(connection, schema.diversity_vectors, vectors)
    dbt(work_file, "seed")
    dbt(work_file, "run")
    with duckdb.connect(work_file, read_only=True) as connection:
        yield connection
