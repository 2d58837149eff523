"""The temperature sketch in SQL: macros that DuckDB evaluates by itself.

They are stored in the file, work on a plain read-only connection without Python, and go along with
``COPY FROM DATABASE``. Each stands on its own, so a file attached under any name answers
``name.confidence_at(1.3)``. The formulas are those of `udfs.temperature_sketch`; they read sketches
as stored, in the units of `udfs.stored_sketches`, or means of such.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from udfs.stored_sketches import AHEAD_SKETCH_BITS, SKETCH_BITS
from udfs.temperature_sketch import (
    HIGHEST_TEMPERATURE,
    LOWEST_TEMPERATURE,
    SKETCH_LENGTH,
    slope_matrix,
)


class Connection(Protocol):
    """What statements are run on: a DuckDB connection."""

    def execute(self, query: str, /) -> object:
        """Run one statement."""


@dataclass(frozen=True)
class SketchMacro:
    """One macro with two forms: by the columns' own names, and by any expressions.

    Attributes
    ----------
    name : str
    columns : tuple of str
        Columns of scored tokens that it reads, in the order of its further arguments.
    expression : str
        SQL of its value at ``tau``, a double in range.
    lowest : float
        Smallest τ it answers for.
    meaning : str
        Comment stored with it.
    """

    name: str
    columns: tuple[str, ...]
    expression: str
    lowest: float
    meaning: str

    @property
    def definitions(self) -> tuple[str, str]:
        """Statements that create the macro, or replace it, and comment on it.

        ``name(tau)`` reads the columns of the query it stands in; ``name(tau, column, …)`` is for
        joins and renamed columns. An out-of-range τ is an error as soon as one row is read.
        """
        body = (
            f"case when tau between {self.lowest} and {HIGHEST_TEMPERATURE} "
            f"then {self.expression} "
            "when tau is not null then error("
            f"'tau must be in [{self.lowest:g}, {HIGHEST_TEMPERATURE:g}], where the sketch holds, "
            f"got ' || tau || ' in {self.name}; score again with exact rows for others.') end"
        )
        return (
            f"create or replace macro {self.name}(tau) as {body}, "
            f"(tau, {', '.join(self.columns)}) as {body}",
            f"comment on macro {self.name} is '{self.meaning}'",
        )


def _degree(degree: int, tau: str) -> str:
    """Return the Chebyshev polynomial of *degree* at x = log₂ β as SQL."""
    return f"cos({degree} * acos(-log2({tau})))"


def _basis(tau: str = "cast(tau as double)", bits: NDArray[np.int64] = SKETCH_BITS) -> str:
    """Return T in nats per stored unit."""
    units = np.ldexp(1.0, -bits).tolist()
    entries = [f"{unit!r} * {_degree(degree, tau)}" for degree, unit in enumerate(units)]
    return f"array_value({', '.join(entries)})"


def _entropy_basis(tau: str = "cast(tau as double)") -> str:
    """Return T − T′/ln 2 in nats per stored unit, written out term by term."""
    weights = np.eye(SKETCH_LENGTH) - slope_matrix() / math.log(2.0)
    entries = [
        " + ".join(
            f"{weight!r} * {_degree(degree, tau)}"
            for degree, weight in enumerate(row)
            if weight != 0.0
        )
        for row in np.ldexp(weights, -SKETCH_BITS[:, None]).tolist()
    ]
    return f"array_value({', '.join(entries)})"


def _product(sketch: str, basis: str) -> str:
    """Return an inner product in double precision: in float it would lose the last digits."""
    return f"array_inner_product(cast({sketch} as double[{SKETCH_LENGTH}]), {basis})"


_TAU = "cast(tau as double)"
_LOG_PARTITION = _product("temperature_sketch", _basis())
_LOG_AHEAD = _product("mass_ahead_sketch", _basis(bits=AHEAD_SKETCH_BITS))
_LOG_PARTITION_OF_HALF = _product("temperature_sketch", _basis("cast(tau as double) / 2"))

SKETCH_MACROS: tuple[SketchMacro, ...] = (
    SketchMacro(
        "confidence_at",
        ("temperature_sketch", "confidence"),
        # ln(0) is an error in SQL, and an imported top label may have a confidence of 0.
        f"exp(ln(nullif(cast(confidence as double), 0)) / {_TAU} - {_LOG_PARTITION})",
        LOWEST_TEMPERATURE,
        "Probability of the top label at temperature tau in [0.5, 2].",
    ),
    SketchMacro(
        "log_loss_at",
        ("temperature_sketch", "log_probability_nats"),
        f"{_LOG_PARTITION} - cast(log_probability_nats as double) / {_TAU}",
        LOWEST_TEMPERATURE,
        "Minus log probability of the token that came at temperature tau in [0.5, 2], nats.",
    ),
    SketchMacro(
        "entropy_at",
        ("temperature_sketch",),
        _product("temperature_sketch", _entropy_basis()),
        LOWEST_TEMPERATURE,
        "Entropy of the forecast at temperature tau in [0.5, 2], nats.",
    ),
    SketchMacro(
        "sum_of_squares_at",
        ("temperature_sketch",),
        f"exp({_LOG_PARTITION_OF_HALF} - 2 * {_LOG_PARTITION})",
        2.0 * LOWEST_TEMPERATURE,
        "Sum of squared probabilities at temperature tau in [1, 2]; Brier score is this - 2p + 1.",
    ),
    SketchMacro(
        "mass_ahead_at",
        ("temperature_sketch", "mass_ahead_sketch", "rank"),
        f"case when rank = 0 then 0.0 else exp({_LOG_AHEAD} - {_LOG_PARTITION}) end",
        LOWEST_TEMPERATURE,
        "Probability of strictly likelier tokens at temperature tau in [0.5, 2]; 0 at rank 0.",
    ),
)


def _in_nats(name: str, column: str, bits: NDArray[np.int64], meaning: str) -> tuple[str, str]:
    coefficients = ", ".join(
        f"cast({column}[{degree + 1}] as double) / {2**places}"
        for degree, places in enumerate(bits.tolist())
    )
    return (
        f"create or replace macro {name}({column}) as "
        f"case when {column} is not null then [{coefficients}] end",
        f"comment on macro {name} is '{meaning}'",
    )


SKETCHES_IN_NATS = (
    *_in_nats(
        "sketch_in_nats",
        "temperature_sketch",
        SKETCH_BITS,
        "The 16 coefficients of a stored temperature sketch, or of sums of them, in nats.",
    ),
    *_in_nats(
        "mass_ahead_sketch_in_nats",
        "mass_ahead_sketch",
        AHEAD_SKETCH_BITS,
        "The 16 coefficients of a stored mass-ahead sketch, or of sums of them, in nats.",
    ),
)
"""Statements of the macros that give coefficients as `udfs.temperature_sketch` speaks; the two
columns are stored in different units."""


def create_sketch_macros(connection: Connection) -> None:
    """Store every macro, those of `SKETCHES_IN_NATS` too, in the file that *connection* writes.

    Unlike a UDF, a macro stays in the file, and its readers need no Python.
    """
    for macro in SKETCH_MACROS:
        for statement in macro.definitions:
            connection.execute(statement)
    for statement in SKETCHES_IN_NATS:
        connection.execute(statement)
