"""Claims about the marts of language models trained here: other ways to the same numbers agree."""

from __future__ import annotations

from typing import Any

import duckdb
import numpy as np
import pytest

from flows.fit_plan import training_text
from flows.language_models.decoder_network import DecoderSettings
from flows.language_models.fact_model import draw_fact_world
from flows.language_models.vocabulary import encode, vocabulary_of
from tests.dbt.trained_study import trained_study


def rows(marts: duckdb.DuckDBPyConnection, sql: str) -> list[tuple[Any, ...]]:
    marts.execute("set search_path = 'marts'")
    return marts.execute(sql).fetchall()


def test_temperatures_of_exact_rows_are_those_of_the_stored_sketches(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    """Python on whole rows, SQL on 16 numbers a token: within the error of the sketch."""
    found = rows(
        marts,
        "select fits.token_group, exact.fitted_temperature, fits.fitted_temperature, "
        "exact.temperature_gain_nats, fits.temperature_gain_nats, "
        "exact.log_loss_at_1_nats, fits.log_loss_at_1_nats "
        "from intermediate.int_trained_fits_joined as exact "
        "inner join fct_temperature_fits as fits "
        "on exact.study_name = fits.study_name and exact.test_set_name = fits.test_set_name "
        "and exact.language_model_name = fits.language_model_name "
        "and exact.token_group = fits.token_group "
        "where fits.fold_name = 'all' and fits.fit_status = 'converged' "
        "and exact.language_model_kind <> 'fact_model'",
    )
    assert len(found) > 15
    assert {row[0] for row in found} == {"all", "known_words"}
    for _, exact, sketched, exact_gain, sketched_gain, exact_loss, sketched_loss in found:
        assert exact == pytest.approx(sketched, abs=1e-4)
        # A sketch gives log Z to 4e-5 at worst.
        assert exact_loss == pytest.approx(sketched_loss, abs=1e-5)
        if exact_gain is not None and sketched_gain is not None:
            assert exact_gain == pytest.approx(sketched_gain, abs=1e-5)


def test_the_fitted_temperature_falls_strictly_as_the_discount_grows(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    """Printed: 1.542, 1.339, 1.176, 1.003, 0.979."""
    found = rows(
        marts,
        "select discount_factor, fitted_temperature, row_rank_correlation from fct_discount_refits "
        "where study_name = 'trained' and test_set_name = 'continuation' "
        "order by discount_factor nulls last",
    )
    assert [row[0] for row in found] == [0.1, 0.25, 0.5, 1.0, None]
    temperatures = [row[1] for row in found]
    assert temperatures == sorted(set(temperatures), reverse=True)
    # Temperature reorders confidences.
    assert all(0.5 < row[2] < 0.99 for row in found)


def test_gaps_by_range_are_means_over_the_tokens(marts: duckdb.DuckDBPyConnection) -> None:
    found = rows(
        marts,
        "select language_model_name, token_count_third_to_0_6, gap_third_to_0_6, "
        "token_count_above_two_thirds, gap_above_two_thirds from fct_discount_refits "
        "where study_name = 'trained' and test_set_name = 'continuation' order by 1",
    )
    tokens: dict[str, list[tuple[float, bool]]] = {}
    for name, confidence, is_hit in rows(
        marts,
        "select language_model_name, confidence, is_hit from fct_scored_tokens "
        "where study_name = 'trained' and test_set_name = 'continuation'",
    ):
        tokens.setdefault(name, []).append((confidence, is_hit))
    for name, middle_count, middle, top_count, top in found:
        confidence = np.array([each[0] for each in tokens[name]])
        surplus = np.array([each[1] for each in tokens[name]]) - confidence
        is_middle, is_top = (confidence > 1 / 3) & (confidence <= 0.6), confidence > 2 / 3
        assert (middle_count, top_count) == (is_middle.sum(), is_top.sum())
        assert middle == pytest.approx(surplus[is_middle].mean(), abs=1e-12)
        assert top == pytest.approx(surplus[is_top].mean(), abs=1e-12)


def test_theorem_3_holds_to_six_decimals_at_ten_penalties(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    found = rows(
        marts,
        "select derivative_at_1_nats, -penalty_times_squared_norm, fitted_temperature, "
        "language_model_name from fct_penalty_fits "
        "where study_name = 'trained' and text_set_name = 'training' order by penalty desc",
    )
    assert len(found) == 10
    assert (found[0][3], found[-1][3]) == ("bigram-penalty-1e-2", "bigram-penalty-1e-7")
    for derivative, by_theorem, _, _ in found:
        assert derivative == pytest.approx(by_theorem, abs=5e-7)
        assert derivative < 0.0
    temperatures = [row[2] for row in found]
    assert temperatures == sorted(set(temperatures))
    assert temperatures[-1] < 1.0


def test_one_temperature_serves_no_regime_of_facts(marts: duckdb.DuckDBPyConnection) -> None:
    found = {
        row[0]: row[1:]
        for row in rows(
            marts,
            "select regime, probe_count, accuracy, gap, fit_status, log_loss_at_1_nats, "
            "log_loss_at_pooled_nats, coalesce(log_loss_nats, 0) from fct_fact_regimes "
            "where study_name = 'trained'",
        )
    }
    world = draw_fact_world(np.random.default_rng(0))
    regimes, counts = np.unique(world.regime, return_counts=True)
    assert {name: found[name][0] for name in regimes} == dict(
        zip(regimes.tolist(), counts.tolist(), strict=True)
    )
    often, never = found["seen_twice_or_more"], found["never_seen"]
    assert often[1] == 1.0
    assert often[2] > 0.0 > never[2]
    # Every top label came: the loss falls for ever as the temperature does.
    assert often[3] == "no_finite_optimum"
    # Regimes share the tokens, so their losses at one temperature add up to that of all.
    for place in (4, 5):
        total = sum(found[name][0] * found[name][place] for name in regimes)
        assert total / found["all"][0] == pytest.approx(found["all"][place], rel=1e-12)
    own = sum(found[name][0] * found[name][6] for name in regimes) / found["all"][0]
    assert own < found["all"][5] - 0.1
    probes = rows(
        marts,
        "select count(*), sum(mention_count) from raw.fact_probes inner join raw.scorings "
        "using (scoring_id) where study_name = 'trained'",
    )
    assert probes == [(len(world.mention_count), world.mention_count.sum())]


def test_unknown_words_cap_the_coverage_and_a_map_onto_them_wins_more(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    (row,) = rows(
        marts,
        "select unknown_share, is_unknown_last, coverage_ceiling, highest_nucleus_coverage, "
        "mean_confidence, accuracy, temperature_gain_nats, unknown_map_gain_nats "
        "from fct_unknown_words "
        "where study_name = 'trained' and test_set_name = 'strange' "
        "and language_model_name = 'trigram'",
    )
    share, is_last, ceiling, coverage, confidence, accuracy, gain, mapped = row
    assert is_last
    assert share > 0.3
    assert coverage <= ceiling == pytest.approx(1 - share, abs=1e-12)
    assert confidence > accuracy
    assert mapped > 2 * gain


def test_a_decoder_leaves_out_what_lies_beyond_its_context_and_keeps_every_place(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    """The same token of the same text has the same label, whoever scored it."""
    length = DecoderSettings().context_length
    for test_set in ("continuation", "strange"):
        trigram, decoder = (
            marts.execute(
                "select document_index, token_index, position, sentence_index, outcome_label "
                "from marts.fct_scored_tokens where study_name = 'trained' "
                "and test_set_name = $test_set and language_model_name = $name",
                {"test_set": test_set, "name": name},
            ).fetchall()
            for name in ("trigram", "decoder-seed-0")
        )
        expected = {row[:2]: row for row in trigram if row[2] < length}
        assert len(decoder) == len(expected)
        for row in decoder:
            assert row[:4] == expected[row[:2]][:4]
            assert row[4] in {expected[row[:2]][4], "<unk>"}


def test_language_models_say_what_they_were_trained_on(marts: duckdb.DuckDBPyConnection) -> None:
    documents = training_text(trained_study().synthetic_filings)
    vocabulary = vocabulary_of(documents)
    found = rows(
        marts,
        "select language_model_kind, training_token_count, outcome_count, gradient_norm > 0, "
        "weights_file_name is not null, test_set_count, training_fitted_temperature is not null "
        "from dim_trained_language_models "
        "where study_name = 'trained' and language_model_name in ('trigram', 'decoder-seed-0') "
        "order by 1",
    )
    token_count = len(encode(vocabulary, documents))
    assert found == [
        ("decoder", token_count, 511, True, True, 2, True),
        ("kneser_ney_trigram", token_count, vocabulary.outcome_count, None, False, 2, False),
    ]


def test_figures_of_clm_stand_beside_studies_that_train_language_models(
    marts: duckdb.DuckDBPyConnection,
) -> None:
    found = rows(
        marts,
        "select printed_in, count(*), count(value_from_study) from fct_published_reconciliations "
        "where document_name = 'CLM' group by 1, study_name order by 1",
    )
    # No decoder on held, nothing on edgar: four columns of seven penalties are there but two.
    assert found == [
        ("Panel of facts", 9, 9),
        ("Table of discounts", 15, 15),
        ("Table of penalties", 35, 21),
        ("Table of test sets", 28, 14),
    ]
    (facts,) = rows(
        marts,
        "select value_from_study, verdict_from_study from fct_published_reconciliations "
        "where subject_name = 'seen_twice_or_more' and statistic_name = 'accuracy'",
    )
    assert facts == (1.0, "reproduces")


def test_every_filing_has_its_row(marts: duckdb.DuckDBPyConnection) -> None:
    assert rows(
        marts,
        "select file_name, item_7_status, cast(period_of_report as varchar), fiscal_year "
        "from dim_filings "
        "where study_name = 'trained' order by 1",
    ) == [("a.txt", "extracted", "1999-01-31", 1999), ("b.txt", "missing", "1999-01-31", 1999)]
