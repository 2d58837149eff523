"""The two-block decoder as a network: tied output, fixed scale, a last norm that learns nothing."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional

from flows.language_models.errors import DecoderError


@dataclass(frozen=True)
class DecoderSettings:
    """Shape of the network.

    Attributes
    ----------
    context_length : int
        Positions of a sentence that are read and scored; later ones are not.
    width, head_count, block_count : int
        Width must be a multiple of the heads.
    """

    context_length: int = 32
    width: int = 64
    head_count: int = 4
    block_count: int = 2

    def __post_init__(self) -> None:
        for name in ("context_length", "width", "head_count", "block_count"):
            if getattr(self, name) < 1:
                raise DecoderError(f"{name} must be at least 1, got {getattr(self, name)}.")
        if self.width % self.head_count:
            raise DecoderError(
                f"width must be a multiple of head_count, got {self.width} and {self.head_count}."
            )


class DecoderNetwork(nn.Module):
    """Pre-norm transformer decoder over tokens 0 … V, the last of them the begin mark.

    The output matrix is the input embedding of the V outcomes times 1/√width, and the last norm has
    no gain: no direction in the weights scales the logits alone, so nothing pins the temperature.

    Parameters
    ----------
    outcome_count : int
        V, without the begin mark.
    settings : DecoderSettings
    """

    def __init__(self, outcome_count: int, settings: DecoderSettings) -> None:
        super().__init__()
        self.outcome_count = outcome_count
        self.settings = settings
        self.embedding = nn.Embedding(outcome_count + 1, settings.width)
        self.places = nn.Embedding(settings.context_length, settings.width)
        self.blocks = nn.ModuleList(
            DecoderBlock(settings.width, settings.head_count) for _ in range(settings.block_count)
        )
        self.last_norm = nn.LayerNorm(settings.width, elementwise_affine=False)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits of the next token, shape (sentences, length, V).

        Parameters
        ----------
        tokens : Tensor of int64, shape (sentences, length)
            The begin mark first; whatever pads the end reaches no earlier position.
        """
        places = torch.arange(tokens.shape[1], device=tokens.device)
        hidden = self.embedding(tokens) + self.places(places)
        for block in self.blocks:
            hidden = block(hidden)
        outputs = self.embedding.weight[: self.outcome_count]
        logits = self.last_norm(hidden) @ outputs.T / math.sqrt(self.settings.width)
        return cast("Tensor", logits)


class DecoderBlock(nn.Module):
    """Causal self-attention and a feed-forward layer of four times the width, each added on."""

    def __init__(self, width: int, head_count: int) -> None:
        super().__init__()
        self.head_count = head_count
        self.attention_norm = nn.LayerNorm(width)
        self.mixed = nn.Linear(width, 3 * width)
        self.attended = nn.Linear(width, width)
        self.feed_norm = nn.LayerNorm(width)
        self.feed = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, hidden: Tensor) -> Tensor:
        """Shape (sentences, length, width) in and out."""
        sentences, length, width = hidden.shape
        heads = self.mixed(self.attention_norm(hidden)).view(
            sentences, length, 3, self.head_count, width // self.head_count
        )
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        hidden = hidden + self.attended(seen.transpose(1, 2).reshape(sentences, length, width))
        return cast("Tensor", hidden + self.feed(self.feed_norm(hidden)))
