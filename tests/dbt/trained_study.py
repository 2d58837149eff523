"""A study of small language models, trained once per process and written to any work file."""

from __future__ import annotations

import functools
import tempfile
from pathlib import Path

import duckdb
import yaml

from flows.corpora.layouts import FilingsLayout, TextsLayout
from flows.fit import fitted_test_set, write_scoring
from flows.fit_plan import planned_scorings
from flows.fit_rows import FittedRows
from flows.ingest_filings import ingest_filings
from flows.ingest_generated import ingest_generated
from flows.ingest_stages import generated_layouts
from flows.ingest_texts import ingest_texts
from flows.study import Study, load_study
from tests.corpora.test_filings import PROSE, TITLE, submission
from warehouse.measurements import read_texts

NAME = "trained"
STRANGE = (
    "Our Mellifluous subsidiary quietly abandoned seventeen lighthouses. The revenue of its "
    "zeppelins rose again. Customers of the aquarium bought fewer octopuses than we had hoped. "
) * 4
"""Prose of words that no synthetic filing has, and a few that all of them have."""

STUDY = {
    "study_name": NAME,
    # A fifth of the training text of the shipped study: a second or two for all of it.
    "synthetic_filings": {"seed": 1, "training_document_count": 60},
    "test_sets": [
        {"name": "continuation", "synthetic_filings": {}, "document_count": 12},
        {"name": "strange", "path": "strange.txt"},
        {"name": "facts", "fact_probes": {"seed": 0}},
    ],
    "trained_language_models": [
        {
            "name": "trigram",
            "kind": "kneser_ney_trigram",
            "discount_factors": [0.1, 0.25, 0.5, 1.0, "capped"],
        },
        {
            "name": "bigram",
            "kind": "loglinear_bigram",
            "vocabulary_tokens": 100,
            "test_sets": ["continuation"],
        },
        {
            "name": "decoder",
            "kind": "decoder",
            "seeds": [0],
            "step_count": 5,
            "test_sets": ["continuation", "strange"],
        },
        {"name": "facts", "kind": "fact_model"},
    ],
}


@functools.cache
def study_folder() -> Path:
    folder = Path(tempfile.mkdtemp(prefix="calibrary-trained-"))
    (folder / "study.yml").write_text(yaml.safe_dump(STUDY))
    (folder / "strange.txt").write_text(STRANGE)
    filings = folder / "filings"
    filings.mkdir()
    (filings / "a.txt").write_text(submission(f"Item 7. {TITLE}\n{PROSE}\nItem 8. Statements"))
    (filings / "b.txt").write_text(submission("Item 1. Business\nWe make things."))
    return folder


@functools.cache
def trained_study() -> Study:
    return load_study(study_folder() / "study.yml")


_FITTED: dict[str, FittedRows] = {}


def write_trained_study(connection: duckdb.DuckDBPyConnection) -> None:
    """Write everything as `calibrary run` does, without its scheduler."""
    study, folder = trained_study(), study_folder()
    for layout in generated_layouts(study):
        ingest_generated(connection, study.settings, layout)
    strange = TextsLayout(str(folder / "strange.txt"), "strange")
    ingest_texts(connection, study.settings, strange)
    ingest_filings(connection, study.settings, FilingsLayout(str(folder / "filings"), "edgar"))
    for planned in planned_scorings(connection, study, folder / "weights"):
        key = planned.scoring.scoring_id
        if key not in _FITTED:
            texts = read_texts(connection, [each.text_id for each in planned.documents])
            _FITTED[key] = fitted_test_set(planned, texts)
        write_scoring(connection, planned, _FITTED[key])
