"""Train the small language models of *Calibration of Language Models*, each by what names it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from enum import StrEnum
from pathlib import Path

import numpy as np

from flows.corpora.sentence_documents import SentenceDocument
from flows.language_models.fact_model import FactModel, FactWorld, draw_fact_world
from flows.language_models.forecast_losses import DistinctRows
from flows.language_models.forecasts import Forecasts
from flows.language_models.kneser_ney import kneser_ney_trigram
from flows.language_models.loglinear_bigram import PENALTIES, fit_loglinear_bigrams
from flows.language_models.samples import LanguageModelIdentity
from flows.language_models.vocabulary import EncodedText, Vocabulary, encode, vocabulary_of
from udfs.temperature import fit_temperature

TRAINING_VERSION = "1"
"""Raised whenever the same specification would give other forecasts."""

CAPPED = float("inf")
"""Discount factor that puts every discount at its cap."""

BACKEND = "trained_here"


class LanguageModelKind(StrEnum):
    """What can be trained here."""

    KNESER_NEY_TRIGRAM = "kneser_ney_trigram"
    LOGLINEAR_BIGRAM = "loglinear_bigram"
    DECODER = "decoder"
    FACT_MODEL = "fact_model"


@dataclass(frozen=True)
class TrainingSpec:
    """All that a language model trained here depends on.

    Attributes
    ----------
    language_model_name : str
    kind : LanguageModelKind
    training_sha256 : str
        Of the training text, or of the facts' seed.
    vocabulary_tokens : int or None
        Tokens known, ``<s>``, ``</s>`` and ``<unk>`` among them. None: every word.
    discount_factor, penalty : float or None
    seed, step_count : int or None
        Of a decoder.
    """

    language_model_name: str
    kind: LanguageModelKind
    training_sha256: str
    vocabulary_tokens: int | None = None
    discount_factor: float | None = None
    penalty: float | None = None
    seed: int | None = None
    step_count: int | None = None

    @property
    def identity(self) -> LanguageModelIdentity:
        """Return its identity; the weights are not known before training and are no part of it."""
        # Infinity is no JSON number.
        described = {
            name: str(value) if value == CAPPED else value for name, value in asdict(self).items()
        }
        description = json.dumps(described | {"version": TRAINING_VERSION}, sort_keys=True)
        digest = hashlib.sha256(description.encode()).hexdigest()
        return LanguageModelIdentity(
            language_model_name=self.language_model_name,
            weights_name=self.kind.value,
            language_model_revision=f"sha256:{digest[:32]}",
            weights_sha256=None,
            tokenizer_sha256=None,
            quantization="none",
            dtype_name="float32" if self.kind is LanguageModelKind.DECODER else "float64",
            template_name="none",
            template_sha256=hashlib.sha256(b"").hexdigest(),
            template_text="",
            backend_name=BACKEND,
        )


@dataclass(frozen=True)
class TrainedLanguageModel:
    """A language model ready to forecast.

    Attributes
    ----------
    spec : TrainingSpec
    vocabulary : Vocabulary or None
        What texts are encoded with. None: a fact model, whose probes are its own.
    forecast : callable
        From an encoded text to its exact forecasts; the tokens of a text that it does not score
        are left out of theirs.
    context_tokens : int
        Tokens before a token that it reads at most, begin marks included.
    row : dict
        What ``raw.trained_language_models`` says of it, beside its identity.
    """

    spec: TrainingSpec
    vocabulary: Vocabulary | None
    forecast: Callable[[EncodedText], Forecasts]
    context_tokens: int
    row: dict[str, object]


def train(
    specs: Sequence[TrainingSpec],
    documents: Sequence[SentenceDocument],
    weights_folder: Path,
    known_weights: dict[str, str],
) -> list[TrainedLanguageModel]:
    """Train language models of one kind and vocabulary on one text.

    Parameters
    ----------
    specs : sequence of TrainingSpec
        All but for discount factor, penalty and seed alike; penalties from the largest down.
    documents : sequence of SentenceDocument
        The training text.
    weights_folder : Path
        Where decoders lie under the hash of their weights.
    known_weights : dict
        File names of decoders that were trained before, by their ``language_model_id``.

    Raises
    ------
    CalibraryError
        A discount, penalty or training text is of no use; or weights are not what they were.
    """
    vocabulary = vocabulary_of(documents, specs[0].vocabulary_tokens)
    training = encode(vocabulary, documents)
    if specs[0].kind is LanguageModelKind.KNESER_NEY_TRIGRAM:
        return [_trigram(spec, vocabulary, training) for spec in specs]
    if specs[0].kind is LanguageModelKind.LOGLINEAR_BIGRAM:
        return _bigrams(specs, vocabulary, training)
    return [
        _decoder(
            spec,
            vocabulary,
            training,
            weights_folder,
            known_weights.get(spec.identity.language_model_id),
        )
        for spec in specs
    ]


def _trigram(
    spec: TrainingSpec, vocabulary: Vocabulary, training: EncodedText
) -> TrainedLanguageModel:
    factor = 1.0 if spec.discount_factor is None else spec.discount_factor
    trigram = kneser_ney_trigram(vocabulary, training, factor)
    row = {
        "discount_factor": None if factor == CAPPED else factor,
        "is_capped": factor == CAPPED,
        "trigram_discount": trigram.discounts.trigram,
        "bigram_discount": trigram.discounts.bigram,
        "unigram_discount": trigram.discounts.unigram,
    }
    return TrainedLanguageModel(
        spec, vocabulary, trigram.forecast, 2, _base_row(spec, vocabulary, training) | row
    )


def _bigrams(
    specs: Sequence[TrainingSpec], vocabulary: Vocabulary, training: EncodedText
) -> list[TrainedLanguageModel]:
    asked = {float(spec.penalty or 0.0): spec for spec in specs}
    # Small penalties are reached from larger ones, whether or not those are asked for.
    path = sorted({*asked, *(each for each in PENALTIES if each > min(asked))}, reverse=True)
    found = []
    for bigram in fit_loglinear_bigrams(vocabulary, training, path):
        if bigram.penalty not in asked:
            continue
        spec = asked[bigram.penalty]
        row: dict[str, object] = {
            "penalty": bigram.penalty,
            "squared_weight_norm": -bigram.derivative_by_theorem / bigram.penalty,
            "gradient_norm": bigram.gradient_norm,
        }
        row |= _training_fit(bigram.forecast(training))
        found.append(
            TrainedLanguageModel(
                spec, vocabulary, bigram.forecast, 1, _base_row(spec, vocabulary, training) | row
            )
        )
    return found


def _decoder(
    spec: TrainingSpec,
    vocabulary: Vocabulary,
    training: EncodedText,
    folder: Path,
    known_file_name: str | None,
) -> TrainedLanguageModel:
    # Torch is slow to import and the other kinds do without it.
    from flows.language_models.decoder import load_decoder, save_decoder
    from flows.language_models.decoder_training import TrainingSettings, train_decoder

    row: dict[str, object] = {}
    if known_file_name is not None and (folder / known_file_name).exists():
        decoder = load_decoder(folder / known_file_name)
    else:
        how = TrainingSettings(step_count=spec.step_count or TrainingSettings().step_count)
        trained = train_decoder(vocabulary, training, spec.seed or 0, how=how)
        decoder = trained.decoder
        path = save_decoder(decoder, folder)
        row = _base_row(spec, vocabulary, training) | _training_fit(decoder.forecast(training))
        row |= {
            "seed": spec.seed,
            "gradient_norm": trained.gradient_norm,
            "weights_file_name": path.name,
        }
    length = decoder.network.settings.context_length
    return TrainedLanguageModel(spec, vocabulary, decoder.forecast, length, row)


def train_fact_model(spec: TrainingSpec, seed: int) -> tuple[TrainedLanguageModel, FactWorld]:
    """Draw the facts of *seed* and read the text that states them.

    Raises
    ------
    FactError
        The draw allows no discount; another seed may.
    """
    world = draw_fact_world(np.random.default_rng(seed))
    forecasts = FactModel.of(world).forecast()
    row: dict[str, object] = {
        "language_model_kind": spec.kind.value,
        "training_sha256": spec.training_sha256,
        "training_token_count": int(world.mention_count.sum()),
        "outcome_count": world.object_count,
        "seed": seed,
    }
    return TrainedLanguageModel(spec, None, lambda _: forecasts, 1, row), world


def _base_row(
    spec: TrainingSpec, vocabulary: Vocabulary, training: EncodedText
) -> dict[str, object]:
    return {
        "language_model_kind": spec.kind.value,
        "training_sha256": spec.training_sha256,
        "training_token_count": len(training),
        "outcome_count": vocabulary.outcome_count,
    }


def _training_fit(forecasts: Forecasts) -> dict[str, object]:
    """Return what the training text says of the temperature: Theorem 3's side of it."""
    curve = DistinctRows(forecasts)
    fit = fit_temperature(curve)
    return {
        "training_log_loss_nats": fit.log_loss_at_1_nats,
        "training_derivative_at_1_nats": curve.at(1.0).gradient,
        "training_fitted_temperature": fit.fitted_temperature,
    }
