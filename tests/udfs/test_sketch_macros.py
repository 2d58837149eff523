"""Claims about the macros of the sketch: plain DuckDB gives what Python gives, anywhere."""

# ruff: noqa: S608 - queries are made of the names of our own macros and columns
from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pytest
from scipy.special import log_softmax

from flows.sketch_columns import sketch_columns
from udfs.sketch_macros import SKETCH_MACROS, create_sketch_macros
from udfs.stored_sketches import AHEAD_SKETCH_BITS, SKETCH_BITS, sketch_of_stored, stored_sketch
from udfs.temperature_sketch import (
    confidence_at,
    entropy_at,
    log_loss_at,
    mass_ahead_at,
    mass_ahead_sketch,
    sum_of_squares_at,
    temperature_sketch,
)

TOKEN_COUNT = 200
NAMES = [macro.name for macro in SKETCH_MACROS]
RNG = np.random.default_rng(101)
LOGS = log_softmax(RNG.normal(size=(TOKEN_COUNT, 40)) * 2.0, axis=1)
OUTCOME = RNG.integers(0, 40, size=TOKEN_COUNT)
OWN = LOGS[np.arange(TOKEN_COUNT), OUTCOME]
SKETCH = sketch_of_stored(stored_sketch(temperature_sketch(LOGS), SKETCH_BITS), SKETCH_BITS)
AHEAD = mass_ahead_sketch(LOGS, OUTCOME).astype(np.float64)
HAS_AHEAD = ~np.isnan(AHEAD).any(axis=1)
AHEAD[HAS_AHEAD] = sketch_of_stored(
    stored_sketch(AHEAD[HAS_AHEAD], AHEAD_SKETCH_BITS), AHEAD_SKETCH_BITS
)
CONFIDENCE = np.exp(LOGS.max(axis=1))


def expected(name: str, temperature: float) -> np.ndarray:
    return {
        "confidence_at": lambda: confidence_at(temperature, SKETCH, CONFIDENCE),
        "log_loss_at": lambda: log_loss_at(temperature, SKETCH, OWN),
        "entropy_at": lambda: entropy_at(temperature, SKETCH),
        "sum_of_squares_at": lambda: sum_of_squares_at(temperature, SKETCH),
        "mass_ahead_at": lambda: mass_ahead_at(temperature, SKETCH, AHEAD),
    }[name]()


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of scored tokens with the macros, and a copy of it by COPY FROM DATABASE."""
    folder = tmp_path_factory.mktemp("published")
    with duckdb.connect(folder / "work.duckdb") as connection:
        create_sketch_macros(connection)
        connection.register(
            "incoming",
            pa.table(
                {
                    "token_number": np.arange(TOKEN_COUNT),
                    "confidence": CONFIDENCE,
                    "log_probability_nats": OWN,
                    "rank": (OWN[:, None] < LOGS).sum(axis=1),
                    **sketch_columns(temperature_sketch(LOGS), mass_ahead_sketch(LOGS, OUTCOME)),
                }
            ),
        )
        connection.execute("create table scored_tokens as from incoming")
        connection.execute(f"attach '{folder / 'copy.duckdb'}' as copied")
        connection.execute("copy from database work to copied")
    return folder / "copy.duckdb"


@pytest.fixture
def reader(published: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    """A plain connection that has never seen this package."""
    with duckdb.connect(published, read_only=True) as connection:
        yield connection


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("temperature", [0.5, 0.7, 1.0, 1.3, 2.0])
def test_a_plain_read_only_connection_gives_what_python_gives(
    reader: duckdb.DuckDBPyConnection, name: str, temperature: float
) -> None:
    if name == "sum_of_squares_at" and temperature < 1.0:
        return
    query = f"select {name}({temperature}) from scored_tokens order by token_number"
    found = [row[0] for row in reader.execute(query).fetchall()]
    assert found == pytest.approx(expected(name, temperature), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
def test_columns_of_other_names_are_given_as_further_arguments(
    reader: duckdb.DuckDBPyConnection, name: str
) -> None:
    (macro,) = (each for each in SKETCH_MACROS if each.name == name)
    arguments = ", ".join(f"token.{column}" for column in macro.columns)
    rows = reader.execute(
        f"select {name}(1.3), {name}(1.3, {arguments}) from scored_tokens as token"
    ).fetchall()
    assert all(first == second for first, second in rows)


@pytest.mark.parametrize("name", NAMES)
def test_a_column_of_temperatures_answers_row_by_row(
    reader: duckdb.DuckDBPyConnection, name: str
) -> None:
    rows = reader.execute(
        f"select temperature, list({name}(temperature) order by token_number) "
        "from scored_tokens cross join (values (1.0), (1.25), (2.0)) as grid(temperature) "
        "group by temperature order by temperature"
    ).fetchall()
    assert [float(temperature) for temperature, _ in rows] == [1.0, 1.25, 2.0]
    for temperature, found in rows:
        assert found == pytest.approx(expected(name, float(temperature)), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("temperature", ["0.4999", "2.0001", "-1", "'nan'::double", "'inf'::float"])
def test_a_temperature_out_of_range_is_an_error_that_says_so(
    reader: duckdb.DuckDBPyConnection, name: str, temperature: str
) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=r"tau must be in .*where the sketch"):
        reader.execute(f"select avg({name}({temperature})) from scored_tokens").fetchall()


def test_squares_are_refused_below_1_where_twice_beta_leaves_the_range(
    reader: duckdb.DuckDBPyConnection,
) -> None:
    with pytest.raises(duckdb.InvalidInputException, match=r"tau must be in \[1, 2\].*got 0.9"):
        reader.execute("select sum_of_squares_at(0.9) from scored_tokens").fetchall()


@pytest.mark.parametrize("name", NAMES)
def test_no_temperature_and_no_sketch_give_null(
    reader: duckdb.DuckDBPyConnection, name: str
) -> None:
    query = f"select {name}(null) from scored_tokens limit 1"
    assert reader.execute(query).fetchall() == [(None,)]
    imported = (
        "(select 0.5 as confidence, null::double as log_probability_nats, null::integer as rank, "
        "null::integer[] as temperature_sketch, null::integer[] as mass_ahead_sketch)"
    )
    assert reader.execute(f"select {name}(1.5) from {imported}").fetchall() == [(None,)]


def test_a_file_attached_under_another_name_answers_through_it(published: Path) -> None:
    with duckdb.connect() as connection:
        connection.execute(f"attach '{published}' as elsewhere (read_only)")
        (found,) = (
            connection.execute(
                "select avg(elsewhere.confidence_at(1.3)) from elsewhere.scored_tokens"
            ).fetchone()
            or ()
        )
    assert found == pytest.approx(expected("confidence_at", 1.3).mean(), rel=1e-12)


def test_every_macro_says_what_it_is(reader: duckdb.DuckDBPyConnection) -> None:
    rows = reader.execute(
        "select function_name, any_value(comment), count(*) from duckdb_functions() "
        "where not internal group by all order by all"
    ).fetchall()
    described = {name: comment for name, comment, forms in rows if forms == 2}
    assert described == {macro.name: macro.meaning for macro in SKETCH_MACROS}
    assert [name for name, comment, forms in rows if forms == 1 and comment] == [
        "mass_ahead_sketch_in_nats",
        "sketch_in_nats",
    ]


def test_coefficients_in_nats_are_those_of_python(reader: duckdb.DuckDBPyConnection) -> None:
    rows = reader.execute(
        "select sketch_in_nats(temperature_sketch) from scored_tokens order by token_number"
    ).fetchall()
    assert np.array_equal([row[0] for row in rows], SKETCH)
    # The other column has a unit of its own.
    ahead = reader.execute(
        "select mass_ahead_sketch_in_nats(mass_ahead_sketch) from scored_tokens "
        "where mass_ahead_sketch is not null order by token_number"
    ).fetchall()
    assert np.array_equal([row[0] for row in ahead], AHEAD[~np.isnan(AHEAD[:, 0])])
    (summed, nothing) = (
        reader.execute(
            "select sketch_in_nats(list_concat([sum(temperature_sketch[1])], repeat([0], 15))), "
            "sketch_in_nats(null::integer[]) from scored_tokens"
        ).fetchone()
        or ()
    )
    assert summed == [SKETCH[:, 0].sum(), *[0.0] * 15]
    assert nothing is None


def test_creating_the_macros_again_changes_nothing(tmp_path: Path) -> None:
    with duckdb.connect(tmp_path / "again.duckdb") as connection:
        for _ in range(2):
            create_sketch_macros(connection)
        one_nat = [2**17, *[0] * 15]
        value = f"select log_loss_at(2, {one_nat}, ln(0.25))"
        (found,) = connection.execute(value).fetchone() or ()
    assert found == 1.0 - math.log(0.25) / 2


def test_a_confidence_of_zero_without_a_sketch_spoils_no_query_over_others() -> None:
    with duckdb.connect() as connection:
        create_sketch_macros(connection)
        connection.register(
            "tokens",
            pa.table(
                {
                    "confidence": [0.0, math.exp(float(LOGS[0].max()))],
                    **sketch_columns(
                        np.stack([np.full(16, np.nan), temperature_sketch(LOGS[:1])[0]]),
                        np.full((2, 16), np.nan),
                    ),
                }
            ),
        )
        rows = connection.execute("select confidence_at(1.3) from tokens").fetchall()
    assert rows[0] == (None,)
    assert rows[1][0] == pytest.approx(expected("confidence_at", 1.3)[0], abs=1e-4)
