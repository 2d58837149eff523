"""Claims about scored tokens: brute force on small rows, invariants at every temperature."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.language_models.errors import ForecastError
from flows.language_models.forecast_losses import (
    DistinctRows,
    fitted_temperature,
    temperature_gain,
    unknown_share_gain,
)
from flows.language_models.forecasts import Forecasts
from flows.language_models.scored_tokens import scored_tokens
from flows.language_models.vocabulary import UNKNOWN_ID, EncodedText
from udfs.loss_curves import ExactRows, FitStatus
from udfs.prediction_sets import mass_ahead, nucleus
from udfs.temperature import fit_temperature, tempered


def text_of(tokens: list[int]) -> EncodedText:
    place = np.arange(len(tokens))
    none = np.zeros_like(place)
    return EncodedText(np.array(tokens), none, place, place // 3, none + 1)


def random_forecasts(seed: int, has_ties: bool = False) -> Forecasts:
    rng = np.random.default_rng(seed)
    masses = rng.dirichlet(np.full(9, 0.4), size=5) + 1e-6
    if has_ties:
        masses = np.ceil(masses * 8)
    rows = np.log(masses / masses.sum(axis=1, keepdims=True))
    row_of_token = rng.integers(5, size=40)
    # Outcomes drawn from flattened rows: overconfident forecasts, yet with a finite optimum.
    flatter = np.exp(tempered(rows, 2.0))
    tokens = [int(rng.choice(9, p=flatter[row])) for row in row_of_token]
    return Forecasts(rows, row_of_token, text_of(tokens))


@pytest.mark.parametrize("temperature", [0.4, 1.0, 2.5])
@pytest.mark.parametrize(("seed", "has_ties"), [(0, False), (1, True), (2, True)])
def test_every_quantity_equals_brute_force_on_its_own_row(
    temperature: float, seed: int, has_ties: bool
) -> None:
    forecasts = random_forecasts(seed, has_ties)
    scored = scored_tokens(forecasts, temperature)
    for place in range(len(forecasts.text)):
        row = np.exp(
            tempered(forecasts.log_probabilities[forecasts.row_of_token[place]], temperature)
        )[0]
        outcome = int(forecasts.text.token_id[place])
        ahead = [
            v for v in range(9) if row[v] > row[outcome] or (row[v] == row[outcome] and v < outcome)
        ]
        assert scored.top_token_id[place] == row.argmax()
        assert scored.is_hit[place] == (row.argmax() == outcome)
        assert scored.rank[place] == len(ahead)
        assert scored.confidence[place] == pytest.approx(row.max(), abs=1e-14)
        assert scored.mass_ahead[place] == pytest.approx(row[ahead].sum(), abs=1e-14)
        assert scored.log_probability_nats[place] == pytest.approx(
            math.log(row[outcome]), abs=1e-12
        )
        assert scored.entropy_nats[place] == pytest.approx(-(row * np.log(row)).sum(), abs=1e-12)


@pytest.mark.parametrize("seed", range(3))
def test_nucleus_and_mass_ahead_agree_with_the_functions_of_prediction_sets(seed: int) -> None:
    forecasts = random_forecasts(seed)
    scored = scored_tokens(forecasts)
    rows = np.exp(forecasts.log_probabilities)[forecasts.row_of_token]
    sets = nucleus(rows, 0.9)
    assert scored.prediction_set_size.tolist() == sets.prediction_set_size.tolist()
    assert scored.kept_mass == pytest.approx(sets.kept_mass, abs=1e-14)
    own = mass_ahead(rows)[np.arange(len(rows)), forecasts.text.token_id]
    assert scored.mass_ahead == pytest.approx(own, abs=1e-14)
    assert scored.is_covered.tolist() == (own < 0.9 - 1e-12).tolist()


def test_a_nucleus_ends_where_its_mass_is_reached_exactly() -> None:
    # 0.6 + 0.3 is 0.8999999999999999 in binary; two outcomes must still do.
    forecasts = Forecasts(np.log([[0.6, 0.3, 0.1]]), np.zeros(1, np.int64), text_of([2]))
    scored = scored_tokens(forecasts)
    assert scored.prediction_set_size.tolist() == [2]
    assert not scored.is_covered[0]


@given(st.integers(0, 10_000), st.floats(0.2, 5.0))
def test_temperature_moves_no_rank_and_no_hit(seed: int, temperature: float) -> None:
    forecasts = random_forecasts(seed)
    cold, warm = scored_tokens(forecasts), scored_tokens(forecasts, temperature)
    assert cold.rank.tolist() == warm.rank.tolist()
    assert cold.is_hit.tolist() == warm.is_hit.tolist()


@pytest.mark.parametrize("seed", range(4))
def test_the_loss_curve_of_distinct_rows_is_that_of_one_row_per_token(seed: int) -> None:
    forecasts = random_forecasts(seed)
    distinct = DistinctRows(forecasts)
    plain = ExactRows(forecasts.log_probabilities[forecasts.row_of_token], forecasts.text.token_id)
    for beta in (0.3, 1.0, 4.0):
        ours, theirs = distinct.at(beta), plain.at(beta)
        assert ours.log_loss_nats == pytest.approx(theirs.log_loss_nats, abs=1e-12)
        assert ours.gradient == pytest.approx(theirs.gradient, abs=1e-12)
        assert ours.curvature == pytest.approx(theirs.curvature, abs=1e-11)
    fit = fit_temperature(distinct)
    assert fit.fitted_temperature == pytest.approx(fit_temperature(plain).fitted_temperature)
    assert abs(fit.gradient) < 1e-10


def test_no_temperature_is_fitted_where_there_is_no_optimum() -> None:
    rows = np.log([[0.75, 0.25], [0.5, 0.5]])
    right = Forecasts(rows, np.zeros(4, np.int64), text_of([0, 0, 0, 0]))
    wrong = Forecasts(rows, np.zeros(4, np.int64), text_of([1, 1, 1, 1]))
    flat = Forecasts(rows, np.ones(4, np.int64), text_of([0, 1, 0, 1]))
    found = [fitted_temperature(each) for each in (right, wrong, flat)]
    assert [fit.status for fit in found] == [
        FitStatus.NO_FINITE_OPTIMUM,
        FitStatus.NO_FINITE_OPTIMUM,
        FitStatus.FLAT,
    ]
    assert [fit.fitted_temperature for fit in found] == [None] * 3


def test_an_impossible_outcome_is_minus_infinity_and_left_out_of_fits() -> None:
    rows = np.log(np.array([[0.5, 0.25, 0.25, 1.0], [0.5, 0.25, 0.25, 1.0]]))
    rows[:, 3] = -np.inf
    forecasts = Forecasts(rows, np.zeros(5, np.int64), text_of([0, 0, 1, 2, 3]))
    assert scored_tokens(forecasts).log_probability_nats[4] == -math.inf
    curve = DistinctRows(forecasts)
    assert (curve.rejected_count, curve.token_count) == (1, 4.0)
    # Half of what is left hit a half, so τ = 1 is already the optimum.
    assert fit_temperature(curve).fitted_temperature == pytest.approx(1.0, abs=1e-9)


def test_mapping_onto_unknown_gives_it_the_share_and_keeps_the_rest_in_proportion() -> None:
    rows = np.log([[0.5, 0.125, 0.25, 0.125]])
    forecasts = Forecasts(rows, np.zeros(1, np.int64), text_of([0]))
    mapped = np.exp(forecasts.with_unknown_share(0.3).log_probabilities)[0]
    exact = [Fraction(1, 2), None, Fraction(1, 4), Fraction(1, 8)]
    for value, before in zip(mapped, exact, strict=True):
        share = Fraction(3, 10) if before is None else Fraction(7, 10) * before / Fraction(7, 8)
        assert value == pytest.approx(float(share), rel=1e-14)
    with pytest.raises(ForecastError, match=r"got 1\.0"):
        forecasts.with_unknown_share(1.0)


def test_gains_are_fitted_on_one_half_of_the_sentences_and_tried_on_the_other() -> None:
    rows = np.log([[0.5, 0.25, 0.25]])
    tokens = [1, 1, 0, 0, 2, 1, 0, 1, 0, 0]
    text = EncodedText(
        np.array(tokens),
        np.zeros(10, np.int64),
        np.array([0, 1, 0, 1, 0, 1, 1, 0, 2, 3]),
        np.zeros(10, np.int64),
        np.ones(10, np.int64),
    )
    forecasts = Forecasts(rows, np.zeros(10, np.int64), text)
    is_odd = text.sentence_index % 2 == 1
    shares = [(text.token_id[half] == UNKNOWN_ID).mean() for half in (~is_odd, is_odd)]
    by_hand = sum(
        math.log((share if token == UNKNOWN_ID else (1 - share) * row / 0.75) / row)
        for token, odd in zip(tokens, is_odd, strict=True)
        for share, row in [(shares[0] if odd else shares[1], [0.5, 0.25, 0.25][token])]
    )
    assert unknown_share_gain(forecasts) == pytest.approx(by_hand / 10, abs=1e-14)
    assert temperature_gain(forecasts).even_fit.token_count == (~is_odd).sum()


def test_arrow_columns_carry_the_names_of_the_design() -> None:
    table = scored_tokens(random_forecasts(0)).to_arrow()
    assert table.num_rows == 40
    assert set(table.column_names) == {
        "document_index", "sentence_index", "position", "token_id", "top_token_id", "confidence",
        "is_hit", "log_probability_nats", "entropy_nats", "rank", "mass_ahead", "kept_mass",
        "prediction_set_size", "byte_count", "is_unknown",
    }  # fmt: skip


def test_rows_of_another_vocabulary_are_refused() -> None:
    with pytest.raises(ForecastError, match="outcomes below 2"):
        Forecasts(np.log([[0.5, 0.5]]), np.zeros(1, np.int64), text_of([2]))
    with pytest.raises(ForecastError, match="temperature must be above 0"):
        scored_tokens(random_forecasts(0), 0.0)
