"""What moved between the two latest publications of a study, read from the snapshot."""

from __future__ import annotations

import difflib
from collections import Counter
from dataclasses import asdict, dataclass, fields
from datetime import datetime
from pathlib import Path

import duckdb

from udfs.errors import CalibraryError
from warehouse.connection import open_snapshot

LEAST_UNITS = 2.0
"""Changes beyond are shown as moved: noise alone takes one bootstrapped figure in twenty so far."""


class ComparisonError(CalibraryError):
    """Nothing in the snapshot is what was asked to be compared."""


@dataclass(frozen=True)
class FigureChange:
    """One row of ``fct_run_changes``, as far as people read it."""

    study_name: str
    figure_kind: str
    measure_name: str
    test_set_name: str | None
    language_model_name: str | None
    binning: str | None
    story_source_name: str | None
    coordinate_frame: str | None
    axes: str | None
    change_status: str
    earlier_figure_value: float | None
    figure_value: float | None
    figure_change: float | None
    change_unit: float | None
    change_in_units: float | None
    noise_kind: str
    earlier_sample_count: int | None
    sample_count: int | None
    earlier_definition_json: str | None
    definition_json: str | None
    earlier_publication_id: str | None
    earlier_published_at: datetime | None

    def subject(self) -> str:
        """Return what was measured, such as ``ece_plugin of people by GPT2-XL (equal_width)``."""
        if self.test_set_name is not None:
            bins = "" if self.binning is None else f" ({self.binning})"
            return (
                f"{self.measure_name} of {self.test_set_name} by {self.language_model_name}{bins}"
            )
        kind = "human ceiling of " if self.figure_kind == "human_ceiling" else ""
        whose = "" if kind else f" of {self.story_source_name}"
        return f"{kind}{self.measure_name}{whose} ({self.coordinate_frame}, {self.axes})"

    def as_text(self) -> str:
        """Return it as one line: subject, from what to what, and how far in units."""
        moved = f"{_number(self.earlier_figure_value)} → {_number(self.figure_value)}"
        if self.figure_change is not None:
            moved += f", {self.figure_change:+.4g}"
        if self.change_in_units is not None:
            moved += f", {self.change_in_units:+.1f} units"
        note = "" if self.change_status == "compared" else f" [{self.change_status}]"
        return f"{self.subject()}: {moved}{note}"


@dataclass(frozen=True)
class StudyComparison:
    """The figures of one study beside those of its earlier publication."""

    study_name: str
    changes: tuple[FigureChange, ...]
    least_units: float

    @property
    def moved(self) -> tuple[FigureChange, ...]:
        """Figures that moved by more than `least_units`, the farthest first."""
        found = [
            change
            for change in self.changes
            if change.change_in_units is not None and abs(change.change_in_units) > self.least_units
        ]
        return tuple(sorted(found, key=lambda change: -abs(change.change_in_units or 0.0)))

    @property
    def status_counts(self) -> dict[str, int]:
        """Number of figures by ``change_status``, in name order."""
        return dict(sorted(Counter(change.change_status for change in self.changes).items()))

    def as_record(self) -> dict[str, object]:
        """Return it as JSON has it."""
        first = self.changes[0]
        return {
            "study_name": self.study_name,
            "earlier_publication_id": first.earlier_publication_id,
            "earlier_published_at": first.earlier_published_at,
            "least_units": self.least_units,
            "status_counts": self.status_counts,
            "moved": [asdict(change) for change in self.moved],
        }

    def as_text(self) -> str:
        """Return it as lines, the first of which says it all."""
        since = self.changes[0].earlier_published_at
        if since is None:
            return (
                f"{self.study_name}: no earlier publication has other figures to compare with; "
                f"{len(self.changes):,} figures are recorded for the next one."
            )
        compared = sum(change.change_in_units is not None for change in self.changes)
        lines = [
            f"{self.study_name}: {len(self.moved):,} of {compared:,} figures moved by more than "
            f"{self.least_units:g} units since the publication of {since:%Y-%m-%d %H:%M} UTC."
        ]
        lines += [f"  {change.as_text()}" for change in self.moved]
        others = {
            status: count
            for status, count in self.status_counts.items()
            if status not in {"compared", "other_sample"}
        }
        if others:
            counted = ", ".join(f"{count:,} {status}" for status, count in others.items())
            lines.append(f"  not compared: {counted} (change_status in fct_run_changes)")
        return "\n".join(lines)


def compare_publications(
    home: Path,
    study_names: list[str] | None = None,
    measure_names: list[str] | None = None,
    least_units: float = LEAST_UNITS,
) -> tuple[StudyComparison, ...]:
    """Return what moved in each study of the snapshot of *home*, or in those named.

    Parameters
    ----------
    home : Path
        Folder of the snapshot.
    study_names, measure_names : list of str, optional
        Only these; all where not given.
    least_units : float
        Units beyond which a change counts as moved.

    Raises
    ------
    WarehouseMissingError
        Nothing has been published yet.
    ComparisonError
        The snapshot has no such study or measure, or was built before figures were compared.
    """
    changes = read_changes(home)
    _refuse_unknown("study", study_names, {change.study_name for change in changes})
    in_studies = [
        change for change in changes if not study_names or change.study_name in study_names
    ]
    _refuse_unknown("measure", measure_names, {change.measure_name for change in in_studies})
    found: dict[str, list[FigureChange]] = {}
    for change in in_studies:
        if not measure_names or change.measure_name in measure_names:
            found.setdefault(change.study_name, []).append(change)
    return tuple(StudyComparison(name, tuple(rows), least_units) for name, rows in found.items())


def read_changes(home: Path) -> tuple[FigureChange, ...]:
    """Return ``fct_run_changes`` of the snapshot of *home*, in its order.

    Raises
    ------
    WarehouseMissingError
        Nothing has been published yet.
    ComparisonError
        The snapshot was built before figures were compared.
    """
    names = ", ".join(field.name for field in fields(FigureChange))
    with open_snapshot(home) as connection:
        try:
            rows = connection.execute(
                f"select {names} from marts.fct_run_changes"  # noqa: S608 - our own field names
            ).fetchall()
        except duckdb.CatalogException:
            raise ComparisonError(
                f"the snapshot of {home} must have the table fct_run_changes, and an older "
                "calibrary built it without; `calibrary build` makes it."
            ) from None
    return tuple(FigureChange(*row) for row in rows)


def _refuse_unknown(what: str, asked: list[str] | None, known: set[str]) -> None:
    for name in asked or ():
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = (
                f"did you mean {near[0]}?"
                if near
                else f"the snapshot has {', '.join(sorted(known)) or 'none'}."
            )
            raise ComparisonError(
                f"a {what} to compare must have figures in the snapshot, got {name!r}; {hint}"
            )


def _number(value: float | None) -> str:
    return "none" if value is None else f"{value:.4g}"
