"""Scored documents as rows of the warehouse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from flows.ingest_ledger import arrow_rows
from flows.language_models.logit_scores import LogitScores
from flows.language_models.token_scoring import DocumentScores, TokenScorer
from flows.scoring_plan import Document, Scoring
from flows.sketch_columns import sketch_columns
from udfs.identity import content_id
from warehouse.schema import rejects, scored_documents


@dataclass(frozen=True)
class ScoredRows:
    """What one batch adds to the tables of scored tokens, of rejects and of documents."""

    scoring: dict[str, object]
    tokens: tuple[pa.Table, ...]
    rejects: pa.Table
    documents: pa.Table

    @property
    def token_count(self) -> int:
        """Tokens scored, those rejected not counted."""
        return sum(table.num_rows for table in self.tokens)


def scored_rows(
    scoring: Scoring,
    documents: Sequence[Document],
    found: Sequence[DocumentScores],
    scorer: TokenScorer,
) -> ScoredRows:
    """Return the rows of *documents* in their order; a forecast that is none becomes a reject."""
    tokens, rejected, rows = [], [], []
    for document, result in zip(documents, found, strict=True):
        sound = np.ones(0, np.bool_)
        if result.scores is not None:
            scores = result.scores
            sound = np.isfinite(scores.confidence) & np.isfinite(scores.log_probability_nats)
            tokens.append(_tokens(scoring, document, result, scores, sound, scorer.unknown_id))
            rejected += [
                token_reject(
                    scoring, document, int(result.places[at]), float(scores.confidence[at])
                )
                for at in np.flatnonzero(~sound).tolist()
            ]
        rows.append(
            {
                "scoring_id": scoring.scoring_id,
                "document_id": document.document_id,
                "document_index": document.document_index,
                "text_id": document.text_id,
                "token_count": int(sound.sum()),
                "rejected_count": int((~sound).sum()),
            }
        )
    return ScoredRows(
        scoring.row(scorer.outcome_count),
        tuple(tokens),
        arrow_rows(rejects, rejected),
        arrow_rows(scored_documents, rows),
    )


def _tokens(
    scoring: Scoring,
    document: Document,
    result: DocumentScores,
    scores: LogitScores,
    sound: NDArray[np.bool_],
    unknown_id: int | None,
) -> pa.Table:
    """Return the sound tokens of one document as rows of ``raw.scored_tokens``."""
    read, places = result.document, result.places
    token_id = read.token_ids[places]
    is_unknown = np.zeros(len(places), np.bool_) if unknown_id is None else token_id == unknown_id
    integers = {
        "token_index": places,
        "sentence_index": read.sentence_index[places],
        "position": read.position[places],
        "context_token_count": result.context_token_count,
        "token_id": token_id,
        "top_token_id": scores.top_token_id,
        "rank": scores.rank,
        "prediction_set_size": scores.prediction_set_size,
        "byte_count": read.byte_count[places],
    }
    table = pa.table(
        {
            "scoring_id": pa.array([scoring.scoring_id] * len(places), pa.string()),
            "document_id": pa.array([document.document_id] * len(places), pa.string()),
            **{name: pa.array(values.astype(np.int32)) for name, values in integers.items()},
            "outcome_label": pa.array(result.outcome_labels, pa.string()),
            "top_label": pa.array(result.top_labels, pa.string()),
            "confidence": pa.array(scores.confidence),
            "is_hit": pa.array(scores.top_token_id == token_id),
            "log_probability_nats": pa.array(np.minimum(scores.log_probability_nats, 0.0)),
            "entropy_nats": pa.array(scores.entropy_nats.astype(np.float32)),
            "mass_ahead": pa.array(scores.mass_ahead),
            "kept_mass": pa.array(scores.kept_mass.astype(np.float32)),
            "is_unknown": pa.array(is_unknown),
            "is_across_join": pa.array(read.is_across_join[places]),
            **sketch_columns(scores.temperature_sketch, scores.mass_ahead_sketch),
        }
    )
    return table.filter(pa.array(sound))


def token_reject(
    scoring: Scoring, document: Document, token_index: int, confidence: float
) -> dict[str, Any]:
    """Return the row of a token whose forecast is none."""
    reason, detail = "impossible_outcome", "A token that came must not be called impossible"
    if not np.isfinite(confidence):
        reason, detail = "not_a_probability", "Logits must be finite or -inf, and some are not"
    return {
        "reject_id": content_id("reject", scoring.scoring_id, document.document_id, token_index),
        "study_name": scoring.study_name,
        "reject_kind": "token",
        "reason": reason,
        "detail": f"{detail}, at token {token_index} of document {document.document_index}.",
        "prompt_id": None,
        "story_id": None,
        "file_name": scoring.shown_name,
        "line_number": None,
        "ingest_id": scoring.ingest_id,
        "selection_id": None,
    }
