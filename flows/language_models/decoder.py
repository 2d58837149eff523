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
            np.where(windows.is_token, windows.read, -1), axis=0, return_inverse=True
        )
        prefix = _prefix_numbers(sentences)
        # The row of a prefix is taken from the first sentence that begins with it.
        used, first, row = np.unique(prefix.ravel(), return_index=True, return_inverse=True)
        row_of_window = row.reshape(prefix.shape)[sentence_of]
        place, position = np.nonzero(windows.is_token)
        rows = self._rows(np.maximum(sentences, 0), np.sort(first[used >= 0]))
        number = np.empty(len(used), dtype=np.int64)
        number[np.argsort(first[used >= 0], kind="stable") + int((used < 0).sum())] = np.arange(
            len(rows)
        )
        return Forecasts(rows, number[row_of_window[place, position]], text)

    def _rows(
        self, sentences: NDArray[np.int64], wanted: NDArray[np.int64]
    ) -> NDArray[np.float64]:
        """Forecasts at the *wanted* flat places of *sentences*, which are sorted."""
        length = sentences.shape[1]
        rows = np.empty((len(wanted), self.vocabulary.outcome_count))
        with torch.inference_mode():
            for start in range(0, len(sentences), _SENTENCES_AT_ONCE):
                batch = torch.from_numpy(sentences[start : start + _SENTENCES_AT_ONCE])
                low, high = np.searchsorted(
                    wanted, [start * length, (start + len(batch)) * length]
                )
                logits = self.network(batch).flatten(0, 1)
                asked = torch.from_numpy(wanted[low:high] - start * length)
                rows[low:high] = torch.log_softmax(logits[asked].double(), dim=1).numpy()
        return rows


def _prefix_numbers(sentences: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number the prefixes that end at every place, equal ones alike; −1 where there is no token."""
    numbers = np.empty_like(sentences)
    before = np.zeros(len(sentences), dtype=np.int64)
    made = 0
    for position in range(sentences.shape[1]):
        step = np.stack([before, sentences[:, position]], axis=1)
        _, found = np.unique(step, axis=0, return_inverse=True)
        before = found.ravel() + made
        made += len(sentences)
        numbers[:, position] = np.where(sentences[:, position] < 0, -1, before)
    return numbers


def save_decoder(decoder: Decoder, folder: Path) -> Path:
    """Write the weights, shape and words as ``<SHA-256>.safetensors``, and return its path.

    The same decoder is the same file: writing it again changes nothing.
    """
    content = save(
        {name: tensor.contiguous() for name, tensor in decoder.network.state_dict().items()},
        metadata={
            "settings": json.dumps(asdict(decoder.network.settings), sort_keys=True),
            "words": json.dumps(decoder.vocabulary.words),
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
        metadata = file.metadata()
        state = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a dict
    vocabulary = Vocabulary(tuple(json.loads(metadata["words"])))
    network = DecoderNetwork(
        vocabulary.outcome_count, DecoderSettings(**json.loads(metadata["settings"]))
    )
    network.load_state_dict(state)
    return Decoder(vocabulary, network.eval())
