"""The two-block decoder as a language model: forecasts, and weights kept under their hash."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors import safe_open
from safetensors.torch import save

from flows.language_models.decoder_network import DecoderNetwork, DecoderSettings
from flows.language_models.errors import DecoderError
from flows.language_models.forecasts import Forecasts
from flows.language_models.sentence_windows import sentence_windows
from flows.language_models.vocabulary import EncodedText, Vocabulary

VOCABULARY_TOKENS = 512
"""509 words, ``<s>``, ``</s>`` and ``<unk>``."""

_SENTENCES_AT_ONCE = 256

_NOTHING = -1
"""Where a window holds no token."""


@dataclass(frozen=True)
class Decoder:
    """A trained decoder.

    Attributes
    ----------
    vocabulary : Vocabulary
    network : DecoderNetwork
        In evaluation mode, on the CPU.
    """

    vocabulary: Vocabulary
    network: DecoderNetwork

    def forecast(self, text: EncodedText) -> Forecasts:
        """Forecast the first positions of every sentence from all that stands before them.

        Only the context length of a sentence is scored: the forecasts hold the text without later
        tokens. Equal beginnings of sentences share a row. Logits are float32, log-softmax is
        float64.
        """
        length = self.network.settings.context_length
        text = text.where(text.position < length)
        windows = sentence_windows(text, self.vocabulary.begin_id, length)
        sentences, sentence_of = np.unique(
            np.where(windows.is_token, windows.read, _NOTHING), axis=0, return_inverse=True
        )
        is_read = sentences != _NOTHING
        _, first, row = np.unique(
            _prefix_numbers(sentences)[is_read], return_index=True, return_inverse=True
        )
        row_of_place = np.zeros(sentences.shape, dtype=np.int64)
        row_of_place[is_read] = row
        rows = self._rows(np.where(is_read, sentences, 0), np.flatnonzero(is_read)[first])
        return Forecasts(rows, row_of_place[sentence_of.ravel()][windows.is_token], text)

    def _rows(self, sentences: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.float64]:
        """Forecasts at flat *places* of *sentences*, shape (places, V)."""
        length = sentences.shape[1]
        rows = np.empty((len(places), self.vocabulary.outcome_count))
        order = np.argsort(places)
        ordered = places[order]
        with torch.inference_mode():
            for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
                batch = torch.from_numpy(sentences[start : start + _SENTENCES_AT_ONCE])
                low, high = np.searchsorted(
                    ordered, [start * length, (start + len(batch)) * length]
                )
                asked = torch.from_numpy(ordered[low:high] - start * length)
                logits = self.network(batch).flatten(0, 1)[asked].double()
                rows[order[low:high]] = torch.log_softmax(logits, dim=1).numpy()
        return rows


def _prefix_numbers(sentences: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the prefix that ends at every place, equal ones alike; shape as *sentences*."""
    numbers = np.empty_like(sentences)
    before = np.zeros(len(sentences), dtype=np.int64)
    for position in range(sentences.shape[1]):
        step = np.stack([before, sentences[:, position]], axis=1)
        _, found = np.unique(step, axis=0, return_inverse=True)
        # Shifted, so that prefixes of different lengths never share a number.
        before = found.ravel() + position * len(sentences)
        numbers[:, position] = before
    return numbers


METADATA_KEY = "decoder"


def save_decoder(decoder: Decoder, folder: Path) -> Path:
    """Write the weights, shape and words as ``<SHA-256>.safetensors``, and return its path.

    The same decoder is the same file: writing it again changes nothing.
    """
    content = save(
        {name: tensor.contiguous() for name, tensor in decoder.network.state_dict().items()},
        # One entry: the library writes several in an order that changes from call to call, and with
        # it the bytes and their hash.
        metadata={
            METADATA_KEY: json.dumps(
                {
                    "settings": asdict(decoder.network.settings),
                    "words": decoder.vocabulary.words,
                },
                sort_keys=True,
            )
        },
    )
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{hashlib.sha256(content).hexdigest()}.safetensors"
    if not path.exists():
        unfinished = path.with_suffix(".unfinished")
        unfinished.write_bytes(content)
        unfinished.replace(path)
    return path


def load_decoder(path: Path) -> Decoder:
    """Read what `save_decoder` wrote.

    Raises
    ------
    DecoderError
        The bytes are not those that the file is named after.
    """
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != path.stem:
        raise DecoderError(
            f"the weights in {path} must have the SHA-256 {path.stem}, got {found}; remove the "
            "file and train again."
        )
    with safe_open(path, framework="pt") as file:
        described = json.loads(file.metadata()[METADATA_KEY])
        state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    vocabulary = Vocabulary(tuple(described["words"]))
    network = DecoderNetwork(vocabulary.outcome_count, DecoderSettings(**described["settings"]))
    network.load_state_dict(state)
    return Decoder(vocabulary, network.eval())
