"""Score texts token by token with any causal language model of the transformers library."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from flows.language_models.logit_scores import LogitScores, joined_scores, logit_scores
from flows.language_models.token_windows import (
    DocumentText,
    TokenizedDocument,
    TokenWindow,
    tokenized,
    windows,
)


@dataclass(frozen=True)
class WindowSettings:
    """How long texts are read; part of what a score depends on."""

    window_tokens: int
    """Tokens read at once, the begin-of-text token included."""
    overlap_tokens: int
    """Tokens that a later window repeats, at least 1."""


@dataclass(frozen=True)
class DocumentScores:
    """What became of one document.

    Attributes
    ----------
    document : TokenizedDocument
    places : ndarray of int64, shape (scored,)
        Which of its tokens are scored, rising.
    context_token_count : ndarray of int64, shape (scored,)
        Tokens that the forecast was made from, the begin-of-text token included.
    scores : LogitScores or None
        In the order of *places*; None where there are none.
    outcome_labels, top_labels : list of str
        The same tokens as the vocabulary spells them.
    """

    document: TokenizedDocument
    places: NDArray[np.int64]
    context_token_count: NDArray[np.int64]
    scores: LogitScores | None
    outcome_labels: list[str]
    top_labels: list[str]


@dataclass(frozen=True)
class _Part:
    """A window of one of several documents."""

    document_place: int
    window: TokenWindow


class TokenScorer:
    """A loaded language model and its tokenizer, reading texts.

    Parameters
    ----------
    model : PreTrainedModel
        Causal, ready for inference; read forwards with right padding, which no token sees.
    tokenizer : PreTrainedTokenizerFast
    settings : WindowSettings
    batch_tokens : int
        Tokens of a batch at most, padding included; one window is always read. Logits of one batch
        are all that is held.
    """

    def __init__(
        self, model: Any, tokenizer: Any, settings: WindowSettings, batch_tokens: int
    ) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._settings = settings
        self._batch_tokens = batch_tokens
        self._begin_id: int | None = tokenizer.bos_token_id
        self._has_mask = "attention_mask" in inspect.signature(model.forward).parameters
        self.outcome_count: int | None = getattr(getattr(model, "config", None), "vocab_size", None)
        """Outcomes of a forecast."""
        unknown = tokenizer.unk_token_id
        special = {self._begin_id, tokenizer.eos_token_id}
        self.unknown_id: int | None = None if unknown in special else unknown
        """Stands for every word outside the vocabulary; None where there is no such token."""

    def score(self, texts: Sequence[DocumentText]) -> list[DocumentScores]:
        """Score every outcome of *texts*, in their order; longest windows first."""
        documents = [tokenized(text, self._tokenizer, self._begin_id) for text in texts]
        limit = self._settings.window_tokens - (self._begin_id is not None)
        parts = [
            _Part(place, window)
            for place, document in enumerate(documents)
            for window in windows(document, limit, self._settings.overlap_tokens)
        ]
        longest_first = sorted(parts, key=lambda part: part.window.start - part.window.stop)
        found: dict[_Part, LogitScores] = {}
        while longest_first:
            width = longest_first[0].window.stop - longest_first[0].window.start + 1
            count = max(1, self._batch_tokens // width)
            batch, longest_first = longest_first[:count], longest_first[count:]
            found |= zip(batch, self._score_batch(batch, documents), strict=True)
        parts_of: list[list[_Part]] = [[] for _ in documents]
        for part in parts:
            parts_of[part.document_place].append(part)
        return [
            self._document_scores(document, own, found)
            for document, own in zip(documents, parts_of, strict=True)
        ]

    @torch.inference_mode()
    def _score_batch(
        self, batch: Sequence[_Part], documents: Sequence[TokenizedDocument]
    ) -> list[LogitScores]:
        begin = [] if self._begin_id is None else [self._begin_id]
        rows = [
            begin + documents[part.document_place].token_ids[part.window.start : part.window.stop]
            .tolist()
            for part in batch
        ]  # fmt: skip
        device = next(self._model.parameters()).device
        width = max(map(len, rows))
        padding = self._tokenizer.pad_token_id or 0
        ids = torch.tensor([row + [padding] * (width - len(row)) for row in rows], device=device)
        options: dict[str, Any] = {"use_cache": False}
        if self._has_mask:
            lengths = torch.tensor([len(row) for row in rows], device=device)
            options["attention_mask"] = (
                torch.arange(width, device=device) < lengths[:, None]
            ).long()
        logits = self._model(input_ids=ids, **options).logits
        scored = []
        for row, part in enumerate(batch):
            places = _scored_places(documents[part.document_place], part.window)
            # The forecast of a token stands at the one before it.
            at = torch.as_tensor(places - part.window.start + len(begin), device=device)
            scored.append(logit_scores(_rows(logits[row], at - 1), ids[row, at]))
        return scored

    def _document_scores(
        self,
        document: TokenizedDocument,
        parts: Sequence[_Part],
        found: dict[_Part, LogitScores],
    ) -> DocumentScores:
        begin_count = int(self._begin_id is not None)
        places = [_scored_places(document, part.window) for part in parts]
        contexts = [
            each - part.window.start + begin_count for each, part in zip(places, parts, strict=True)
        ]
        scores = joined_scores([found[part] for part in parts]) if parts else None
        joined = np.concatenate([np.empty(0, np.int64), *places])
        top = [] if scores is None else scores.top_token_id.tolist()
        return DocumentScores(
            document,
            joined,
            np.concatenate([np.empty(0, np.int64), *contexts]),
            scores,
            self._spelled(document.token_ids[joined].tolist()),
            self._spelled(top),
        )

    def _spelled(self, token_ids: list[int]) -> list[str]:
        """Return tokens as the vocabulary has them; those beyond it by number."""
        found = self._tokenizer.convert_ids_to_tokens(token_ids)
        return [
            str(number) if token is None else token
            for number, token in zip(token_ids, found, strict=True)
        ]


def _rows(logits: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    """Return the rows at *places*, rising; a view where they follow each other."""
    first, last = int(places[0]), int(places[-1])
    if last - first + 1 == len(places):
        return logits[first : last + 1]
    return logits[places]


def _scored_places(document: TokenizedDocument, window: TokenWindow) -> NDArray[np.int64]:
    """Return the outcomes that *window* scores."""
    return window.first + np.flatnonzero(document.is_outcome[window.first : window.stop])
