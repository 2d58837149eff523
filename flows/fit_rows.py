"""Exact forecasts of small language models as rows of the warehouse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flows.ingest_generated import object_names
from flows.ingest_ledger import arrow_rows
from flows.language_models.fact_model import FactWorld
from flows.language_models.forecast_losses import (
    DistinctRows,
    temperature_gain,
    unknown_share_gain,
    unknown_tokens,
)
from flows.language_models.forecasts import Forecasts, row_moments
from flows.language_models.scored_tokens import ScoredTokens, scored_tokens
from flows.language_models.token_sketches import token_sketches
from flows.language_models.training import TrainedLanguageModel
from flows.language_models.vocabulary import UNKNOWN_ID, EncodedText
from flows.scoring_plan import Document, Scoring
from flows.scoring_rows import token_reject
from flows.sketch_columns import sketch_columns
from udfs.selective_prediction import kendall_tau_b
from udfs.temperature import fit_temperature
from warehouse.schema import (
    exact_fits,
    fact_probes,
    rejects,
    scored_documents,
    trained_language_models,
)

REORDERING_TEMPERATURE = 2.0
"""At which the order of confidences is compared with that at 1, as the document does."""

ALL_TOKENS, KNOWN_WORDS = "all", "known_words"


@dataclass(frozen=True)
class FittedRows:
    """What one scoring adds to every table."""

    scoring: dict[str, object]
    language_model: dict[str, object]
    """Empty where the language model was trained before."""
    tokens: pa.Table
    rejects: pa.Table
    documents: pa.Table
    fits: pa.Table
    probes: pa.Table


@dataclass(frozen=True)
class ForecastText:
    """A test set as one language model read it.

    Attributes
    ----------
    forecasts : Forecasts
        Sentences counted anew in every document.
    token_index : ndarray of int64, shape (tokens,)
        Place of every token in its document.
    outcome_names : tuple of str
        What outcomes are called.
    group_of_token : ndarray of str, shape (tokens,), or None
        Regime of every fact. None: no facts.
    mention_count : ndarray of int64, shape (tokens,), or None
        How often the training text states each fact. None: no facts.
    """

    forecasts: Forecasts
    token_index: NDArray[np.int64]
    outcome_names: tuple[str, ...]
    group_of_token: NDArray[np.str_] | None = None
    mention_count: NDArray[np.int64] | None = None

    def where(self, is_kept: NDArray[np.bool_]) -> ForecastText:
        """Only the tokens that are kept, shape (tokens,)."""
        groups, counts = self.group_of_token, self.mention_count
        return ForecastText(
            self.forecasts.where(is_kept),
            self.token_index[is_kept],
            self.outcome_names,
            None if groups is None else groups[is_kept],
            None if counts is None else counts[is_kept],
        )


def text_forecast(language_model: TrainedLanguageModel, text: EncodedText) -> ForecastText:
    """Forecast a text; where a language model leaves tokens out, the others keep their places."""
    if language_model.vocabulary is None:
        raise ValueError("a fact model has probes of its own")
    forecasts = language_model.forecast(text)
    place = np.arange(len(text)) - _first_of_group(text.document_index)
    if len(forecasts.text) < len(text):
        place = place[np.searchsorted(_place_codes(text), _place_codes(forecasts.text))]
    scored = forecasts.text
    local = scored.sentence_index - scored.sentence_index[_first_of_group(scored.document_index)]
    forecasts = replace(forecasts, text=replace(scored, sentence_index=local))
    return ForecastText(forecasts, place, language_model.vocabulary.outcome_names)


def fact_forecast(language_model: TrainedLanguageModel, world: FactWorld) -> ForecastText:
    """Forecast the object of every fact: one document, a sentence each."""
    forecasts = language_model.forecast(_no_text())
    names = object_names(world)
    text = replace(
        forecasts.text,
        document_index=np.zeros(len(names), np.int64),
        byte_count=np.array([len(name.encode()) + 1 for name in names]),
    )
    # The two marks are no places, and impossible.
    labels = ("</s>", "<unk>", *(f"place-{place}" for place in range(world.object_count)))
    return ForecastText(
        replace(forecasts, text=text),
        np.arange(len(names)),
        labels,
        world.regime,
        world.mention_count,
    )


def fitted_rows(
    scoring: Scoring,
    documents: Sequence[Document],
    language_model: TrainedLanguageModel,
    found: ForecastText,
) -> FittedRows:
    """Return every row of one scoring; a token called impossible becomes a reject."""
    is_sound = np.isfinite(found.forecasts.log_probability_nats)
    rejected = [
        token_reject(
            scoring,
            documents[int(found.forecasts.text.document_index[place])],
            int(found.token_index[place]),
            1.0,
        )
        for place in np.flatnonzero(~is_sound).tolist()
    ]
    unsound = np.bincount(found.forecasts.text.document_index[~is_sound], minlength=len(documents))
    kept = found if not rejected else found.where(is_sound)
    sound = np.bincount(kept.forecasts.text.document_index, minlength=len(documents))
    scored = scored_tokens(kept.forecasts)
    probes = [] if kept.mention_count is None else kept.mention_count.tolist()
    return FittedRows(
        scoring.row(len(kept.outcome_names)),
        _language_model_row(scoring, language_model),
        _tokens(scoring, documents, language_model, kept, scored),
        arrow_rows(rejects, rejected),
        arrow_rows(
            scored_documents,
            [
                {
                    "scoring_id": scoring.scoring_id,
                    "document_id": document.document_id,
                    "document_index": document.document_index,
                    "text_id": document.text_id,
                    "token_count": int(sound[place]),
                    "rejected_count": int(unsound[place]),
                }
                for place, document in enumerate(documents)
            ],
        ),
        arrow_rows(exact_fits, _fits(scoring, kept, scored)),
        arrow_rows(
            fact_probes,
            [
                {
                    "scoring_id": scoring.scoring_id,
                    "token_index": place,
                    "mention_count": count,
                }
                for place, count in zip(kept.token_index.tolist(), probes, strict=bool(probes))
            ],
        ),
    )


def _language_model_row(
    scoring: Scoring, language_model: TrainedLanguageModel
) -> dict[str, object]:
    if not language_model.row:
        return {}
    columns = dict.fromkeys(column.name for column in trained_language_models.columns)
    return columns | language_model.row | {"language_model_id": scoring.identity.language_model_id}


def _tokens(
    scoring: Scoring,
    documents: Sequence[Document],
    language_model: TrainedLanguageModel,
    found: ForecastText,
    scored: ScoredTokens,
) -> pa.Table:
    """Return the tokens as rows of ``raw.scored_tokens``."""
    sketches = token_sketches(found.forecasts)
    names = pa.array(found.outcome_names, pa.string())
    ids = pa.array([document.document_id for document in documents], pa.string())
    integers = {
        "token_index": found.token_index,
        "sentence_index": scored.sentence_index,
        "position": scored.position,
        "context_token_count": np.minimum(scored.position + 1, language_model.context_tokens),
        "token_id": scored.token_id,
        "top_token_id": scored.top_token_id,
        "rank": scored.rank,
        "prediction_set_size": scored.prediction_set_size,
        "byte_count": scored.byte_count,
    }
    return pa.table(
        {
            "scoring_id": pa.array([scoring.scoring_id] * len(scored.token_id), pa.string()),
            "document_id": ids.take(pa.array(scored.document_index)),
            **{name: pa.array(values.astype(np.int32)) for name, values in integers.items()},
            "outcome_label": names.take(pa.array(scored.token_id)),
            "top_label": names.take(pa.array(scored.top_token_id)),
            "confidence": pa.array(scored.confidence),
            "is_hit": pa.array(scored.is_hit),
            "log_probability_nats": pa.array(np.minimum(scored.log_probability_nats, 0.0)),
            "entropy_nats": pa.array(scored.entropy_nats.astype(np.float32)),
            "mass_ahead": pa.array(scored.mass_ahead),
            "kept_mass": pa.array(scored.kept_mass.astype(np.float32)),
            "is_unknown": pa.array(scored.is_unknown),
            "is_across_join": pa.array(np.zeros(len(scored.token_id), np.bool_)),
            **sketch_columns(sketches.temperature_sketch, sketches.mass_ahead_sketch),
        }
    )


def _fits(scoring: Scoring, found: ForecastText, scored: ScoredTokens) -> list[dict[str, Any]]:
    """Return the exact fits of all tokens, of known words, and of every regime of facts."""
    if not len(scored.token_id):
        return []
    whole = _fit(found.forecasts, scored, np.ones(len(scored.token_id), np.bool_), None)
    pooled = whole["fitted_temperature"]
    groups: dict[str, NDArray[np.bool_]] = {}
    if found.group_of_token is None:
        is_unknown = unknown_tokens(found.forecasts)
        whole |= _whole_text(found.forecasts, is_unknown)
        if not is_unknown.all():
            groups[KNOWN_WORDS] = ~is_unknown
    else:
        names = np.unique(found.group_of_token).tolist()
        groups = {name: found.group_of_token == name for name in names}
    rows = {ALL_TOKENS: whole} | {
        name: _fit(found.forecasts, scored, is_in, pooled) for name, is_in in groups.items()
    }
    if KNOWN_WORDS in rows:
        known = found.forecasts.where(groups[KNOWN_WORDS])
        rows[KNOWN_WORDS]["temperature_gain_nats"] = _gain(known)
    columns = [column.name for column in exact_fits.columns]
    return [
        dict.fromkeys(columns) | {"scoring_id": scoring.scoring_id, "token_group": group} | row
        for group, row in rows.items()
    ]


def _fit(
    forecasts: Forecasts,
    scored: ScoredTokens,
    is_in: NDArray[np.bool_],
    pooled_temperature: float | None,
) -> dict[str, Any]:
    curve = DistinctRows(forecasts if is_in.all() else forecasts.where(is_in))
    fit = fit_temperature(curve)
    pooled = fit.fitted_temperature if is_in.all() else pooled_temperature
    return {
        "token_count": int(is_in.sum()),
        "fit_status": fit.status.value,
        "fitted_temperature": fit.fitted_temperature,
        "log_loss_nats": fit.log_loss_nats,
        "log_loss_at_1_nats": fit.log_loss_at_1_nats,
        "log_loss_at_pooled_nats": None if pooled is None else curve.at(1.0 / pooled).log_loss_nats,
        "derivative_at_1_nats": curve.at(1.0).gradient,
        "mean_confidence": float(scored.confidence[is_in].mean()),
        "accuracy": float(scored.is_hit[is_in].mean()),
    }


def _whole_text(forecasts: Forecasts, is_unknown: NDArray[np.bool_]) -> dict[str, Any]:
    """Return what is said of a whole text alone."""
    is_odd = forecasts.text.sentence_index % 2 == 1
    shares = [is_unknown[half].mean() if half.any() else 0.0 for half in (is_odd, ~is_odd)]
    top = forecasts.log_probabilities.max(axis=1)
    beta = 1.0 / REORDERING_TEMPERATURE
    warm = beta * top - row_moments(forecasts.log_probabilities, beta).log_partition
    return {
        "temperature_gain_nats": _gain(forecasts),
        "unknown_map_gain_nats": unknown_share_gain(forecasts)
        if all(0.0 < share < 1.0 for share in shares)
        else None,
        "is_unknown_last": bool((forecasts.order[:, -1] == UNKNOWN_ID).all()),
        "row_rank_correlation": kendall_tau_b(np.exp(top), np.exp(warm)),
    }


def _gain(forecasts: Forecasts) -> float | None:
    is_odd = forecasts.text.sentence_index % 2 == 1
    if is_odd.all() or not is_odd.any():
        return None
    return temperature_gain(forecasts).temperature_gain_nats


def _first_of_group(index: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the place of the first of equal neighbours, shape as *index*."""
    return np.searchsorted(index, index)


def _place_codes(text: EncodedText) -> NDArray[np.int64]:
    """Return one rising number per token, equal where sentence and position are."""
    return text.sentence_index * (1 << 32) + text.position


def _no_text() -> EncodedText:
    none = np.zeros(0, np.int64)
    return EncodedText(none, none, none, none, none)
