"""Find, identify and load the weights of a language model. Code that comes with them never runs.

Only safetensors and GGUF are read: no pickles. A GGUF file is dequantised by the library once and
kept as safetensors in a cache, named by the file's hash.
"""

from __future__ import annotations

import hashlib
import importlib.util
import math
import re
import shutil
import tempfile
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import torch
from safetensors import safe_open
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, BitsAndBytesConfig
from transformers.utils import logging as transformers_logging

from flows.language_models.errors import LanguageModelError
from flows.language_models.ready_made import LanguageModelEntry
from udfs.packaged_models import first_sentence, resolve_model

# The library's bars would cut through ours.
transformers_logging.disable_progress_bar()
transformers_logging.set_verbosity_error()

LARGEST_UNQUANTIZED_PARAMETERS = 3_000_000_000
"""Above it ``quantization: auto`` means nf4 on a GPU: 7 billion in 16 bits fill a 16 GB card."""

_SHA256 = re.compile(r"[0-9a-f]{64}")
_READ_BYTES = 1 << 22


@dataclass(frozen=True)
class LocatedWeights:
    """A folder the library can load, and where it came from."""

    folder: Path
    revision: str
    weights_sha256: str
    tokenizer_sha256: str


def locate_weights(entry: LanguageModelEntry, model_cache: Path) -> LocatedWeights:
    """Find the weights of *entry*, downloading or converting them where they are not here yet.

    Raises
    ------
    LanguageModelError
        There are none, or none that can be read without running foreign code.
    """
    path = Path(resolve_model(entry.weights))
    if path.is_file():
        if path.suffix != ".gguf":
            raise LanguageModelError(
                f"weights must be a folder, a GGUF file or a hub id, got the file {path}; "
                "name the folder it lies in."
            )
        return _converted(path, model_cache)
    if path.is_dir():
        return _identified(path, None)
    folder = _downloaded(entry)
    return _identified(folder, folder.name)


def load_tokenizer(place: str | Path) -> Any:
    """Return the tokenizer of a folder or hub id, padding on the left.

    Raises
    ------
    LanguageModelError
        There is none.
    """
    try:
        return AutoTokenizer.from_pretrained(place, trust_remote_code=False, padding_side="left")
    except (OSError, ValueError, ImportError) as error:
        raise LanguageModelError(
            f"a tokenizer must be loadable from {place}: {first_sentence(error)}; name a folder or "
            "hub id that has one."
        ) from None


def choose_device(name: str | None) -> torch.device:
    """Return the torch device called *name*; a GPU where there is one, if it is None."""
    if name is not None:
        return torch.device(name)
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def choose_dtype(entry: LanguageModelEntry, device: torch.device) -> torch.dtype:
    """Return the precision of weights and arithmetic; only float32 reproduces across batches."""
    if entry.dtype != "auto":
        return {
            "float32": torch.float32,
            "bfloat16": torch.bfloat16,
            "float16": torch.float16,
        }[entry.dtype]
    if device.type != "cuda":
        return torch.float32
    return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float16


def choose_quantization(
    entry: LanguageModelEntry, located: LocatedWeights, device: torch.device
) -> str:
    """Return ``none``, ``int8`` or ``nf4``; ``auto`` is decided by device and parameters."""
    if entry.quantization != "auto":
        return entry.quantization
    if device.type != "cuda":
        return "none"
    return "nf4" if count_parameters(located.folder) > LARGEST_UNQUANTIZED_PARAMETERS else "none"


def weight_files(folder: Path) -> list[Path]:
    """Return the files that the library loads: ``model*.safetensors`` where there are such.

    Some repositories ship the same weights a second time, as ``consolidated.safetensors``.
    """
    named = sorted(folder.glob("model*.safetensors"))
    return named or sorted(folder.glob("*.safetensors"))


@cache
def count_parameters(folder: Path) -> int:
    """Return the numbers that the weights in *folder* hold, read from the headers alone."""
    count = 0
    for file in weight_files(folder):
        with safe_open(file, "pt") as tensors:
            count += sum(math.prod(tensors.get_slice(key).get_shape()) for key in tensors.keys())  # noqa: SIM118 - not a mapping
    return count


@cache
def count_context(folder: Path) -> int | None:
    """Return the tokens that prompt and story may have together, None where that is not said."""
    config = AutoConfig.from_pretrained(folder, trust_remote_code=False)
    context: int | None = getattr(config, "max_position_embeddings", None)
    return context


def load_weights(
    located: LocatedWeights, dtype: torch.dtype, device: torch.device, quantization: str
) -> Any:
    """Load the language model, ready for inference on *device*.

    Raises
    ------
    LanguageModelError
        It cannot be loaded, or not with this quantization on this machine.
    """
    options: dict[str, Any] = {"dtype": dtype, "trust_remote_code": False, "use_safetensors": True}
    if quantization != "none":
        options["quantization_config"] = _quantization_config(quantization, dtype)
        options["device_map"] = {"": str(device)}
    try:
        model = AutoModelForCausalLM.from_pretrained(located.folder, **options)
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        remedy = (
            "write quantization: none, or use a machine with a GPU"
            if quantization != "none"
            else "name a folder or hub id with safetensors weights of a causal language model"
        )
        raise LanguageModelError(
            f"{located.folder} must load with quantization {quantization} on {device}: "
            f"{first_sentence(error)}; {remedy}."
        ) from None
    if quantization == "none":
        model.to(device)
    return model.eval()


def _quantization_config(quantization: str, dtype: torch.dtype) -> Any:
    if importlib.util.find_spec("bitsandbytes") is None:
        raise LanguageModelError(
            f"quantization {quantization} must have bitsandbytes installed, found none; "
            "run `pip install calibrary[gpu]`, or write quantization: none."
        )
    if quantization == "int8":
        return BitsAndBytesConfig(load_in_8bit=True)
    return BitsAndBytesConfig(
        load_in_4bit=True, bnb_4bit_quant_type="nf4", bnb_4bit_compute_dtype=dtype
    )


def _downloaded(entry: LanguageModelEntry) -> Path:
    from huggingface_hub import snapshot_download

    try:
        folder = snapshot_download(
            entry.weights,
            revision=entry.revision,
            allow_patterns=["*.json", "*.safetensors", "*.txt", "*.model", "*.jinja"],
            ignore_patterns=["consolidated*.safetensors"],
        )
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        raise LanguageModelError(
            "weights must be a folder, a GGUF file, packaged:NAME, or on the hub and in its local "
            f"cache or reachable, {entry.weights!r} is none of these: {first_sentence(error)}; "
            "go online once (and accept the model's licence on the hub, where it asks for that)."
        ) from None
    return Path(folder)


def _identified(folder: Path, revision: str | None) -> LocatedWeights:
    weights = weight_files(folder)
    if not weights:
        raise LanguageModelError(
            f"a folder of weights must hold safetensors, found none in {folder}; "
            "save the model with save_pretrained."
        )
    weights_sha256 = _hash_of(weights)
    tokenizer_sha256 = _tokenizer_hash(folder)
    if revision is None:
        texts = [*sorted(folder.glob("*.json")), *sorted(folder.glob("*.jinja"))]
        whole = _hash_of([*weights, *texts])
        revision = f"sha256:{whole[:32]}"
    return LocatedWeights(folder, revision, weights_sha256, tokenizer_sha256)


def _converted(file: Path, model_cache: Path) -> LocatedWeights:
    """Return the dequantised twin of a GGUF *file*, made on first use and kept by its hash."""
    sha256 = _hash_file(file)
    target = model_cache / sha256
    if not (target / "config.json").is_file():
        model_cache.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix=f".{sha256[:12]}-", dir=model_cache))
        try:
            _convert(file, part)
            # Another process may have been faster: its copy is as good.
            if not (target / "config.json").is_file():
                part.replace(target)
        finally:
            shutil.rmtree(part, ignore_errors=True)
    return LocatedWeights(target, f"sha256:{sha256[:32]}", sha256, _tokenizer_hash(target))


def _convert(file: Path, folder: Path) -> None:
    try:
        tokenizer = AutoTokenizer.from_pretrained(
            file.parent, gguf_file=file.name, trust_remote_code=False
        )
        model = AutoModelForCausalLM.from_pretrained(
            file.parent, gguf_file=file.name, dtype=torch.float32, trust_remote_code=False
        )
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        raise LanguageModelError(
            f"{file} must be a GGUF file of an architecture that transformers knows: "
            f"{first_sentence(error)}; name the original weights instead."
        ) from None
    # The library refuses to save what it still believes to be quantised.
    model.hf_quantizer = None
    model.is_quantized = False
    for holder, name in ((model.config, "quantization_config"), (model, "quantization_method")):
        if hasattr(holder, name):
            delattr(holder, name)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)


def _tokenizer_hash(folder: Path) -> str:
    return _hash_of(sorted(folder.glob("*token*")) + sorted(folder.glob("*.jinja")))


def _hash_of(files: list[Path]) -> str:
    """Return one SHA-256 over the names and contents of *files*."""
    digest = hashlib.sha256()
    for file in files:
        digest.update(file.name.encode() + b"\0" + _hash_file(file).encode())
    return digest.hexdigest()


def _hash_file(file: Path) -> str:
    """Return the SHA-256 of *file*: in a hub cache its blob is named by it already."""
    blob = file.resolve()
    if file.is_symlink() and _SHA256.fullmatch(blob.name):
        return blob.name
    return _hash_contents(str(blob), blob.stat().st_size, blob.stat().st_mtime_ns)


@cache
def _hash_contents(path: str, size: int, modified_at: int) -> str:
    digest = hashlib.sha256()
    with Path(path).open("rb") as stream:
        while block := stream.read(_READ_BYTES):
            digest.update(block)
    return digest.hexdigest()
