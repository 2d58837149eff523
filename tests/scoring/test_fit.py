"""Claims about language models trained here: each scoring once, and a killed stage goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from flows import fit
from flows.fit import fit_study, is_fitted
from flows.ingest_stages import ingest_study
from flows.settings import Settings
from flows.study import StudyError, load_study
from warehouse.connection import open_warehouse, work_path

pytestmark = [pytest.mark.usefixtures("harness"), pytest.mark.timeout(600)]

TOKENS = "select * from raw.scored_tokens order by scoring_id, document_id, token_index"


def study_file(folder: Path, **changes: Any) -> Path:
    document = {
        "study_name": "small",
        "synthetic_filings": {"seed": 3, "training_document_count": 8},
        "test_sets": [
            {"name": "more", "synthetic_filings": {}, "document_count": 2},
            {"name": "facts", "fact_probes": {}},
        ],
        "trained_language_models": [
            {"name": "kn", "kind": "kneser_ney_trigram", "discount_factors": [0.5, 1]},
            {"name": "decoder", "kind": "decoder", "seeds": [7], "step_count": 1},
            {"name": "facts", "kind": "fact_model"},
        ],
    } | changes
    path = folder / "study.yml"
    path.write_text(yaml.safe_dump(document))
    return path


def rows(settings: Settings, sql: str) -> list[tuple[Any, ...]]:
    with open_warehouse(work_path(settings.home), read_only=True) as connection:
        return connection.execute(sql).fetchall()


def test_a_killed_stage_goes_on_where_it_was_and_a_finished_one_writes_nothing(
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    path = study_file(tmp_path)
    study = load_study(path)
    ingest_study(settings, study)
    write: Callable[..., int] = fit.write_scoring
    written: list[str] = []

    def killed(connection: Any, planned: Any, found: Any) -> int:
        if len(written) == 3:
            raise KeyboardInterrupt
        written.append(planned.scoring.shown_name)
        return write(connection, planned, found)

    monkeypatch.setattr(fit, "write_scoring", killed)
    with pytest.raises(KeyboardInterrupt):
        fit_study(settings, path)
    monkeypatch.setattr(fit, "write_scoring", write)
    assert written == ["more/kn-discount-0.5", "more/kn", "more/decoder-seed-7"]
    before = rows(settings, TOKENS)
    report = fit_study(settings, path)
    assert list(report.token_counts) == ["facts/facts"]
    after = rows(settings, TOKENS)
    assert len(after) == len(before) + 111
    assert set(map(repr, before)) < set(map(repr, after))
    # One weights file, and its name in the row of its decoder.
    (weights,) = list((settings.home / "weights").iterdir())
    assert rows(
        settings,
        "select weights_file_name from raw.trained_language_models where seed = 7",
    ) == [(weights.name,)]
    content = work_path(settings.home).read_bytes()
    assert fit_study(settings, path).token_counts == {}
    assert work_path(settings.home).read_bytes() == content


def test_other_knobs_are_another_test_set_and_the_old_one_no_longer_counts(
    settings: Settings,
    tmp_path: Path,
) -> None:
    trigram = [{"name": "kn", "kind": "kneser_ney_trigram"}]
    for knobs in ({}, {"stickiness": 0.9}):
        test_sets = [{"name": "more", "synthetic_filings": knobs, "document_count": 2}]
        path = study_file(tmp_path, test_sets=test_sets, trained_language_models=trigram)
        study = load_study(path)
        ingest_study(settings, study)
        with open_warehouse(work_path(settings.home)) as connection:
            assert not is_fitted(connection, settings, study)
        fit_study(settings, path)
        with open_warehouse(work_path(settings.home)) as connection:
            assert is_fitted(connection, settings, study)
    assert rows(
        settings,
        "select count(*), count(document_index) from raw.scored_documents",
    ) == [(4, 2)]


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        (
            {"trained_language_models": [{"name": "a", "kind": "decoder", "penalties": [0.1]}]},
            "penalties is no knob of a decoder",
        ),
        (
            {"trained_language_models": [{"name": "a", "kind": "fact_model"}] * 2},
            "every language model must have a name of its own, got 'a' twice",
        ),
        (
            {
                "trained_language_models": [
                    {"name": "a", "kind": "kneser_ney_trigram", "test_sets": ["x"]}
                ]
            },
            "a must score test sets of the study, got 'x' .*its test sets are more, facts",
        ),
        (
            {"test_sets": [{"name": "more", "synthetic_filings": {"stickyness": 1}}]},
            "stickyness.* must be valid",
        ),
        (
            {"test_sets": [{"name": "more", "synthetic_filings": {}, "path": "x"}]},
            "must have one of path",
        ),
        ({"synthetic_filings": {"stickiness": 2}}, "stickiness must be valid, got 2"),
    ],
)
def test_a_mistake_in_the_study_file_is_one_sentence(
    tmp_path: Path, changes: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(StudyError, match=sentence):
        load_study(study_file(tmp_path, **changes))


def test_an_optional_test_set_is_left_out_with_a_note(
    settings: Settings,
    tmp_path: Path,
) -> None:
    test_sets = [
        {"name": "more", "synthetic_filings": {}, "document_count": 1},
        {"name": "edgar", "filings": "nowhere", "is_optional": True},
    ]
    study = load_study(study_file(tmp_path, test_sets=test_sets))
    assert [test_set.name for test_set in study.test_sets] == ["more"]
    notes = ingest_study(settings, study).notes
    assert notes == ("test set edgar is left out: nothing lies at its path",)
