"""Training of the two-block decoder: 1,200 steps of Adam from a seed."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from flows.language_models.decoder import Decoder
from flows.language_models.decoder_network import DecoderNetwork, DecoderSettings
from flows.language_models.errors import DecoderError
from flows.language_models.sentence_windows import SentenceWindows, sentence_windows
from flows.language_models.vocabulary import EncodedText, Vocabulary

TRAINING_SEEDS = (0, 1, 2, 3)

_NOT_ASKED = -100
"""What torch's cross-entropy leaves out."""


@dataclass(frozen=True)
class TrainingSettings:
    """How the decoder is trained.

    Attributes
    ----------
    step_count : int
        Adam steps.
    sentences_per_step : int
        Drawn with replacement.
    learning_rate : float
        At its highest; it rises over the first twentieth of the steps and falls as a cosine to 0.
    embedding_sd : float
        Of the embeddings at the start, all else starts as torch has it. The output has no gain of
        its own, so sharp forecasts need long embeddings: from 0.5 the decoder ends underconfident.
    """

    step_count: int = 1_200
    sentences_per_step: int = 32
    learning_rate: float = 2e-2
    embedding_sd: float = 2.0

    def __post_init__(self) -> None:
        for name in ("step_count", "sentences_per_step", "learning_rate", "embedding_sd"):
            if not getattr(self, name) > 0:
                raise DecoderError(f"{name} must be above 0, got {getattr(self, name)}.")


@dataclass(frozen=True)
class TrainedDecoder:
    """A decoder and where its training ended.

    Attributes
    ----------
    decoder : Decoder
    log_loss_nats : float
        Mean over the training tokens within the context length.
    gradient_norm : float
        Euclidean norm of the gradient of that mean: above 0, the end is no stationary point.
    """

    decoder: Decoder
    log_loss_nats: float
    gradient_norm: float


def train_decoder(
    vocabulary: Vocabulary,
    training: EncodedText,
    seed: int,
    settings: DecoderSettings | None = None,
    how: TrainingSettings | None = None,
) -> TrainedDecoder:
    """Train a decoder on the sentences of *training*.

    Parameters
    ----------
    vocabulary : Vocabulary
    training : EncodedText
        At least one sentence.
    seed : int
        Of the weights at the start and of the sentences drawn. The same seed, machine and number of
        torch threads give the same bits; elsewhere sums round otherwise.
    settings, how : DecoderSettings and TrainingSettings, optional
    """
    settings, how = settings or DecoderSettings(), how or TrainingSettings()
    windows = sentence_windows(training, vocabulary.begin_id, settings.context_length)
    read, asked = _tensors(windows)
    length = torch.from_numpy(windows.is_token.sum(axis=1))
    rng = np.random.default_rng(seed)
    network = _untrained(vocabulary.outcome_count, settings, how, seed)
    optimizer = torch.optim.Adam(network.parameters(), lr=how.learning_rate)
    for step in range(how.step_count):
        drawn = torch.from_numpy(rng.integers(len(read), size=how.sentences_per_step))
        longest = int(length[drawn].max())
        optimizer.param_groups[0]["lr"] = how.learning_rate * _rate_share(step, how.step_count)
        optimizer.zero_grad(set_to_none=True)
        loss = _loss(network, read[drawn, :longest], asked[drawn, :longest], "mean")
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
    log_loss, gradient = _ending(network, read, asked)
    return TrainedDecoder(Decoder(vocabulary, network.eval()), log_loss, gradient)


def _untrained(
    outcome_count: int, settings: DecoderSettings, how: TrainingSettings, seed: int
) -> DecoderNetwork:
    """Return a network at its start, without touching torch's own stream of random numbers."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        network = DecoderNetwork(outcome_count, settings)
        torch.nn.init.normal_(network.embedding.weight, std=how.embedding_sd)
        torch.nn.init.normal_(network.places.weight, std=how.embedding_sd)
    return network.train()


def _rate_share(step: int, step_count: int) -> float:
    """Share of the highest learning rate at *step*."""
    rise = max(1, step_count // 20)
    if step < rise:
        return (step + 1) / rise
    return 0.5 * (1.0 + math.cos(math.pi * (step - rise) / max(1, step_count - rise)))


def _tensors(windows: SentenceWindows) -> tuple[Tensor, Tensor]:
    asked = np.where(windows.is_token, windows.asked, _NOT_ASKED)
    return torch.from_numpy(windows.read), torch.from_numpy(asked)


def _loss(network: DecoderNetwork, read: Tensor, asked: Tensor, reduction: str) -> Tensor:
    logits = network(read)
    return functional.cross_entropy(
        logits.flatten(0, 1), asked.flatten(), ignore_index=_NOT_ASKED, reduction=reduction
    )


def _ending(network: DecoderNetwork, read: Tensor, asked: Tensor) -> tuple[float, float]:
    """Return the mean log loss over all training windows and the norm of its gradient."""
    network.zero_grad(set_to_none=True)
    token_count = int((asked != _NOT_ASKED).sum())
    total = 0.0
    for start in range(0, len(read), 256):
        part = slice(start, start + 256)
        loss = _loss(network, read[part], asked[part], "sum") / token_count
        loss.backward()  # type: ignore[no-untyped-call]
        total += loss.item()
    squares = [
        float((parameter.grad.double() ** 2).sum())
        for parameter in network.parameters()
        if parameter.grad is not None
    ]
    network.zero_grad(set_to_none=True)
    return total, math.sqrt(math.fsum(squares))
