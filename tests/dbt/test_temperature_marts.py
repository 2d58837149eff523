"""Claims about marts that need sketches: Python on the exact rows says the same."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.special import log_softmax

from flows.corpora.layouts import ForecastsLayout, TextsLayout
from flows.ingest_forecasts import ingest_forecasts
from flows.ingest_texts import ingest_texts
from flows.language_models.ready_made import LanguageModelEntry
from flows.language_models.token_scoring import TokenScorer, WindowSettings
from flows.language_models.token_windows import DocumentText
from flows.scoring_plan import Scoring, begin_scoring, documents_of, finish_scoring
from flows.scoring_rows import scored_rows
from flows.study import new_study
from flows.study_scoring import TestSetChoice
from tests.dbt.conftest import Dbt
from tests.language_models.tiny_language_model import (
    WORDS,
    tiny_language_model,
    tiny_tokenizer,
    tiny_weights,
)
from udfs.loss_curves import ExactRows, SketchedRows
from udfs.prediction_sets import (
    ConformalScore,
    conformal_coverage,
    conformal_scores,
    is_in_nucleus,
    mass_ahead,
)
from udfs.reliability import ece_plugin
from udfs.reliability_bins import bin_index, reliability_bins
from udfs.selective_prediction import kendall_tau_b, retained_share, selective_accuracy
from udfs.stored_sketches import SKETCH_BITS, sketch_of_stored
from udfs.temperature import cross_fitted_gain, fit_temperature, tempered
from udfs.twins import calibrated_twin
from warehouse.connection import open_warehouse
from warehouse.schema import scored_documents, scored_tokens, scorings
from warehouse.writers import upsert

MARTS = (
    "fct_scored_tokens", "fct_temperature_fits", "fct_temperature_curves",
    "fct_prediction_set_coverage", "fct_selective_accuracy", "fct_confidence_breakdowns",
    "fct_score_decompositions", "fct_calibration_errors", "dim_test_sets", "dim_language_models",
)  # fmt: skip
TEXTS = [
    ". ".join(
        " ".join(np.random.default_rng(10 * seed + part).choice(WORDS, size=9).tolist())
        for part in range(4)
    ).replace(". w", ". W")
    for seed in range(6)
]


@dataclass(frozen=True)
class Net:
    """A classifier that is too sure, and what came."""

    logs: NDArray[np.float64]
    outcome: NDArray[np.int64]

    @property
    def masses(self) -> NDArray[np.float64]:
        return np.exp(self.logs)

    def confidence(self, temperature: float) -> NDArray[np.float64]:
        return np.exp(tempered(self.logs, temperature)).max(axis=1)

    @property
    def hits(self) -> NDArray[np.bool_]:
        return self.logs.argmax(axis=1) == self.outcome


def overconfident() -> Net:
    rng = np.random.default_rng(8)
    logs = log_softmax(rng.normal(size=(1_200, 6)) * 2.5, axis=1)
    truth = np.exp(tempered(logs, 1.4))
    outcome = np.array([rng.choice(6, p=row / row.sum()) for row in truth])
    return Net(logs, outcome)


def score_texts(connection: duckdb.DuckDBPyConnection, folder: Path) -> None:
    """Score texts by the tiny model as `calibrary score` does, without its scheduler."""
    path = folder / "texts"
    path.mkdir()
    for place, text in enumerate(TEXTS):
        (path / f"{place}.txt").write_text(text)
    ingest_texts(connection, new_study("words"), TextsLayout(str(path), "words"))
    window = WindowSettings(128, 32)
    scoring = Scoring(
        "words",
        TestSetChoice(name="words", path="texts"),
        LanguageModelEntry("tiny", "tiny"),
        tiny_language_model().identity,
        window,
    )
    documents = documents_of(connection, "words", scoring.test_set)
    begin_scoring(connection, scoring)
    scorer = TokenScorer(tiny_weights(), tiny_tokenizer(), window, 512)
    texts = [DocumentText(each.document_id, TEXTS[each.document_index]) for each in documents]
    found = scored_rows(scoring, documents, scorer.score(texts), scorer)
    upsert(connection, scorings, [found.scoring])
    for table in found.tokens:
        upsert(connection, scored_tokens, table)
    upsert(connection, scored_documents, found.documents)
    finish_scoring(connection, scoring, documents)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory, dbt: Dbt) -> Path:
    folder = tmp_path_factory.mktemp("temperatures")
    net = overconfident()
    np.savez(folder / "net.npz", probs=net.masses, labels=net.outcome)
    (folder / "sure.csv").write_text("true_label,pred_label,confidence\na,a,0.75\nb,a,0.5\n")
    work_file = folder / "work.duckdb"
    with open_warehouse(work_file) as connection:
        for name in ("net.npz", "sure.csv"):
            ingest_forecasts(connection, new_study("made"), ForecastsLayout(str(folder / name)))
        score_texts(connection, folder)
    # Tests that need other models too are not this build's.
    select = ["--indirect-selection", "cautious", "--select", *(f"+{name}" for name in MARTS)]
    dbt(work_file, "build", *select)
    return work_file


@pytest.fixture
def marts(built: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    # Without one function of Python, as a reader of the snapshot has it.
    with duckdb.connect(built, read_only=True) as connection:
        connection.execute("set search_path = 'marts,main'")
        yield connection


def of_net(marts: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    return marts.execute(f"{sql} and language_model_name = 'net'").fetchall()


def test_the_fitted_temperature_is_that_of_the_exact_rows(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    net = overconfident()
    is_even = np.arange(len(net.outcome)) % 2 == 0
    halves = [ExactRows(net.logs[half], net.outcome[half]) for half in (is_even, ~is_even)]
    curves = {"all": ExactRows(net.logs, net.outcome), "even": halves[0], "odd": halves[1]}
    rows = of_net(
        marts,
        "select fold_name, fitted_temperature, log_loss_nats, temperature_gain_nats, fit_status, "
        "token_count, abs(gradient) from fct_temperature_fits where token_group = 'all'",
    )
    assert len(rows) == 3
    for name, temperature, loss, gain, status, count, gradient in rows:
        exact = fit_temperature(curves[name])
        assert temperature == pytest.approx(exact.fitted_temperature, abs=1e-4)
        assert loss == pytest.approx(exact.log_loss_nats, abs=1e-6)
        assert (status, count) == ("converged", exact.token_count)
        assert gradient < 1e-10
        expected = cross_fitted_gain(*halves).temperature_gain_nats if name == "all" else None
        assert gain == (None if expected is None else pytest.approx(expected, abs=1e-5))


def test_curves_are_those_of_the_exact_rows_at_every_temperature(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    net = overconfident()
    rows = of_net(
        marts,
        "select applied_temperature, log_loss_nats, mean_confidence, accuracy, ece_plugin, "
        "twin_ece_mean, twin_ece_sd "
        "from fct_temperature_curves where bin_count = 15",
    )
    assert len(rows) == 13
    sizes: list[int] = []
    for temperature, loss, confidence, accuracy, ece, twin_mean, twin_sd in rows:
        logs = tempered(net.logs, temperature)
        values = net.confidence(temperature)
        own = logs[np.arange(len(logs)), net.outcome]
        assert loss == pytest.approx(-own.mean(), abs=1e-6)
        assert confidence == pytest.approx(values.mean(), abs=1e-6)
        assert accuracy == net.hits.mean()
        # A confidence within the error of the sketch of an edge may change its bin.
        exact = ece_plugin(reliability_bins(values.clip(0, 1), net.hits, 15))
        assert ece == pytest.approx(exact, abs=2e-3)
        # Some of the bins hold fewer than 300 tokens and others more.
        index = bin_index(values.clip(0, 1), 15)
        twin = calibrated_twin([values.clip(0, 1)[index == place] for place in range(15)])
        within = 1e-9 if temperature == 1.0 else 5e-3
        assert twin_mean == pytest.approx(twin.twin_ece_mean, rel=within)
        assert twin_sd == pytest.approx(twin.twin_ece_sd, rel=within)
        if temperature == 1.0:
            assert ece == pytest.approx(exact, abs=1e-12)
        sizes += np.bincount(index, minlength=15).tolist()
    assert min(sizes) < 300 <= max(sizes)


def test_coverage_is_that_of_the_functions_of_prediction_sets(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    net = overconfident()
    own_ahead = mass_ahead(net.masses)[np.arange(len(net.outcome)), net.outcome]
    nuclei = of_net(
        marts,
        "select nucleus_mass, prediction_set_coverage from fct_prediction_set_coverage "
        "where applied_temperature = 1 and set_kind = 'nucleus'",
    )
    assert len(nuclei) == 5
    for mass, coverage in nuclei:
        assert coverage == is_in_nucleus(own_ahead, mass).mean()
    repaired = of_net(
        marts,
        "select nucleus_mass, prediction_set_coverage, applied_temperature "
        "from fct_prediction_set_coverage where is_fitted_temperature and set_kind = 'nucleus'",
    )
    assert len(repaired) == 5
    for mass, coverage, temperature in repaired:
        masses = np.exp(tempered(net.logs, temperature))
        ahead = mass_ahead(masses)[np.arange(len(net.outcome)), net.outcome]
        # A token within the error of the sketch of the mass may be in or out.
        assert coverage == pytest.approx(is_in_nucleus(ahead, mass).mean(), abs=1 / 1_200)
    sets = of_net(
        marts,
        "select set_kind, miscoverage_level, conformal_threshold, prediction_set_coverage, "
        "calibration_token_count, token_count, applied_temperature, is_fitted_temperature "
        "from fct_prediction_set_coverage where set_kind in ('lac', 'aps')",
    )
    assert len(sets) == 24
    assert sum(is_fitted for *_, is_fitted in sets) == 6
    fitted = of_net(
        marts,
        "select fitted_temperature from fct_temperature_fits "
        "where token_group = 'all' and fold_name = 'even'",
    )
    assert {temperature for *_, temperature, is_fitted in sets if is_fitted} == {fitted[0][0]}
    for kind, level, threshold, coverage, calibration_count, count, temperature, _ in sets:
        masses = np.exp(tempered(net.logs, temperature))
        scores = conformal_scores(ConformalScore(kind), masses, net.outcome)
        expected = conformal_coverage(scores[::2], scores[1::2], level)
        assert (calibration_count, count) == (600, 600)
        assert threshold == pytest.approx(expected.conformal_threshold, abs=1e-4)
        assert coverage == pytest.approx(expected.prediction_set_coverage, abs=2 / 600)


def test_selections_are_those_of_the_functions_of_selective_prediction(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    net = overconfident()
    before = net.confidence(1.0)
    rows = of_net(
        marts,
        "select applied_temperature, answered_share, answered_token_count, selective_accuracy, "
        "retained_share, confidence_rank_correlation from fct_selective_accuracy where true",
    )
    assert len(rows) == 18
    for temperature, share, count, accuracy, retained, correlation in rows:
        values = net.confidence(temperature)
        assert count == int(1_200 * round(share * 100)) // 100
        # The sketch may swap two confidences that are closer than its error.
        assert accuracy == pytest.approx(selective_accuracy(values, net.hits, share), abs=1 / count)
        assert retained == pytest.approx(retained_share(before, values, share), abs=1 / count)
        assert correlation == pytest.approx(kendall_tau_b(before, values), abs=1e-4)


def test_classes_of_a_breakdown_hold_every_token_once_with_its_means(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    tokens = marts.execute("select count(*) from fct_scored_tokens where study_name = 'words'")
    (count,) = tokens.fetchone() or ()
    sums = marts.execute(
        "select breakdown_name, sum(token_count) from fct_confidence_breakdowns "
        "where study_name = 'words' group by 1 order by 1"
    ).fetchall()
    assert sums == [
        (name, count)
        for name in ("confidence_range", "document", "known_words", "position_in_sentence",
                     "top_label")
    ]  # fmt: skip
    by_hand = marts.execute(
        "select printf('%06d', document_index), count(*), avg(confidence), "
        "avg(cast(is_hit as double)), -avg(log_probability_nats) from fct_scored_tokens "
        "where study_name = 'words' group by 1 order by 1"
    ).fetchall()
    found = marts.execute(
        "select class_name, token_count, mean_confidence, accuracy, log_loss_nats "
        "from fct_confidence_breakdowns where study_name = 'words' "
        "and breakdown_name = 'document' order by 1"
    ).fetchall()
    assert [row[:2] for row in found] == [row[:2] for row in by_hand]
    for row, expected in zip(found, by_hand, strict=True):
        assert row[2:] == pytest.approx(expected[2:], abs=1e-9)


def test_every_class_of_a_breakdown_has_the_fit_of_its_tokens(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    rows = marts.execute(
        "select class_name, token_count, fit_status, fitted_temperature from fct_temperature_fits "
        "where study_name = 'words' and token_group = 'document' order by 1"
    ).fetchall()
    tokens = marts.execute(
        "select printf('%06d', document_index), count(*), list(temperature_sketch), "
        "list(log_probability_nats) from fct_scored_tokens where study_name = 'words' "
        "group by 1 order by 1"
    ).fetchall()
    assert len(rows) == len(TEXTS)
    for row, (name, count, sketches, own) in zip(rows, tokens, strict=True):
        fit = fit_temperature(SketchedRows(sketch_of_stored(sketches, SKETCH_BITS), own))
        expected = fit.fitted_temperature
        assert row == (
            name, count, fit.status.value,
            None if expected is None else pytest.approx(expected, abs=1e-6),
        )  # fmt: skip
    classes = (
        "select token_group, class_name from fct_temperature_fits where study_name = 'words' "
        "and token_group <> 'all' and fold_name = 'all' order by all"
    )
    breakdowns = (
        "select breakdown_name, class_name from fct_confidence_breakdowns "
        "where study_name = 'words' order by all"
    )
    assert marts.execute(classes).fetchall() == marts.execute(breakdowns).fetchall()


def test_a_language_model_that_only_scored_has_its_row(marts: duckdb.DuckDBPyConnection) -> None:
    identity = tiny_language_model().identity
    rows = marts.execute(
        "select study_name, language_model_name, dtype_name, story_count, test_set_count "
        "from dim_language_models"
    ).fetchall()
    assert rows == [("words", "tiny", identity.dtype_name, 0, 1)]


def test_scores_are_those_of_the_exact_rows_and_the_reliability_is_bounded(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    net = overconfident()
    own = net.masses[np.arange(len(net.outcome)), net.outcome]
    exact = {
        "brier": ((net.masses**2).sum(axis=1) - 2 * own + 1).mean(),
        "top_label_brier": ((net.confidence(1.0) - net.hits) ** 2).mean(),
        "log": -np.log(own).mean(),
    }
    rows = of_net(
        marts,
        "select score_name, score, decomposition_status, reliability_lower_bound "
        "from fct_score_decompositions where true",
    )
    assert {row[0]: row[2] for row in rows} == {
        "brier": "score_only", "top_label_brier": "estimated", "log": "lower_bound",
    }  # fmt: skip
    for name, score, _, bound in rows:
        assert score == pytest.approx(exact[name], abs=1e-5)
        assert (bound is not None) == (name == "log")


def test_a_loss_in_bits_per_byte_is_what_the_tokens_say(marts: duckdb.DuckDBPyConnection) -> None:
    (nats,) = marts.execute(
        "select -sum(log_probability_nats) from fct_scored_tokens where study_name = 'words'"
    ).fetchone() or (0.0,)
    size = sum(len(text.encode()) for text in TEXTS)
    found = marts.execute(
        "select distinct bits_per_byte from fct_calibration_errors where study_name = 'words'"
    ).fetchall()
    assert found == [(pytest.approx(nats / np.log(2) / size, rel=1e-9),)]
    assert marts.execute("select * from dim_test_sets order by 1").fetchall() == [
        ("made", "made", "forecasts", 2, None, None, None),
        ("words", "words", "texts", 1, 6, 6, size),
    ]


def test_intervals_of_scored_texts_resample_their_documents(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    sums = marts.execute(
        "select count(*), count(*) filter (where is_hit), -sum(log_probability_nats) "
        "from fct_scored_tokens where study_name = 'words' group by document_index "
        "order by document_index"
    ).fetchall()
    count, hits, loss = np.array(sums, dtype=float).T
    rng = np.random.default_rng(20240)
    drawn = [rng.integers(0, len(sums), size=len(sums)) for _ in range(300)]
    accuracy, losses = (
        np.quantile([each[rows].sum() / count[rows].sum() for rows in drawn], [0.025, 0.975])
        for each in (hits, loss)
    )
    found = marts.execute(
        "select distinct accuracy_low, accuracy_high, log_loss_nats_low, log_loss_nats_high, "
        "resampled_unit_count from fct_calibration_errors where study_name = 'words'"
    ).fetchall()
    assert found == [pytest.approx((*accuracy, *losses, len(sums)), rel=1e-9)]


def test_the_fitted_temperature_has_an_interval_around_the_one_that_made_the_outcomes(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    rows = of_net(
        marts,
        "select fold_name, fitted_temperature_low, fitted_temperature, fitted_temperature_high, "
        "defined_replicate_count from fct_temperature_fits where token_group = 'all'",
    )
    for name, low, fitted, high, replicate_count in rows:
        if name != "all":
            assert (low, high, replicate_count) == (None, None, None)
            continue
        assert low < fitted < high
        assert low < 1.4 < high
        assert replicate_count == 300


def test_forecasts_without_sketches_say_so_in_every_mart(marts: duckdb.DuckDBPyConnection) -> None:
    for mart, status in (
        ("fct_temperature_fits", "fit_status"),
        ("fct_prediction_set_coverage", "coverage_status"),
        ("fct_score_decompositions", "decomposition_status"),
    ):
        found = marts.execute(
            f"select distinct {status} from marts.{mart} "  # noqa: S608 - named above
            "where language_model_name = 'sure' order by 1"
        ).fetchall()
        assert ("no_sketch",) in found, mart
    errors = marts.execute(
        "select distinct brier_score, bits_per_byte, log_loss_nats from fct_calibration_errors "
        "where language_model_name = 'sure'"
    ).fetchall()
    assert errors == [(None, None, None)]


def test_any_temperature_can_be_asked_of_the_tokens_in_plain_sql(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    net = overconfident()
    (confidence, loss) = marts.execute(
        "select avg(confidence_at(1.37)), avg(log_loss_at(1.37)) from fct_scored_tokens "
        "where language_model_name = 'net'"
    ).fetchone() or (0.0, 0.0)
    assert confidence == pytest.approx(net.confidence(1.37).mean(), abs=1e-6)
    own = tempered(net.logs, 1.37)[np.arange(len(net.outcome)), net.outcome]
    assert loss == pytest.approx(-own.mean(), abs=1e-6)


def test_folds_of_scored_texts_are_even_and_odd_sentences(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    rows = marts.execute(
        "select sentence_index % 2, list(temperature_sketch), list(log_probability_nats) "
        "from fct_scored_tokens where study_name = 'words' group by 1 order by 1"
    ).fetchall()
    found = marts.execute(
        "select fitted_temperature, fit_status from fct_temperature_fits "
        "where study_name = 'words' and token_group = 'all' and fold_name <> 'all' "
        "order by fold_name"
    ).fetchall()
    for (_, sketches, own), (temperature, status) in zip(rows, found, strict=True):
        fit = fit_temperature(SketchedRows(sketch_of_stored(sketches, SKETCH_BITS), own))
        assert status == fit.status.value
        expected = fit.fitted_temperature
        assert temperature == (None if expected is None else pytest.approx(expected, abs=1e-6))
