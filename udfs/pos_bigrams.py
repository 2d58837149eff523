"""Part-of-speech bigrams: pairs of neighbouring universal tags."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from udfs.packaged_models import ModelNotFoundError, first_sentence, resolve_model

TAGGING_COMPONENTS = ("tok2vec", "tagger", "attribute_ruler")
"""What universal tags need of the pipeline; parser, entities and lemmas are not loaded."""

BATCH_SIZE = 32


@dataclass(frozen=True)
class TextPosBigrams:
    """Part-of-speech bigrams of one text.

    Attributes
    ----------
    bigrams : list of str
        Distinct pairs such as ``'DET NOUN'``, sorted.
    tagged_characters, truncated_characters : int
        Characters read, and beyond the limit.
    """

    bigrams: list[str]
    tagged_characters: int
    truncated_characters: int


def load_tagger(name: str) -> Any:
    """Load the spaCy pipeline *name* with `TAGGING_COMPONENTS` alone.

    Raises
    ------
    ModelNotFoundError
        No such pipeline here, or one that has no tagger.
    """
    import spacy

    path = resolve_model(name)
    try:
        tagger = spacy.load(path)
    except (OSError, ValueError) as error:
        raise ModelNotFoundError(
            f"a tagging model must be loadable as {name!r}: {first_sentence(error)}; "
            "use packaged:en_core_web_sm."
        ) from None
    for component in [*tagger.pipe_names]:
        if component not in TAGGING_COMPONENTS:
            tagger.remove_pipe(component)
    absent = [part for part in TAGGING_COMPONENTS if part not in tagger.pipe_names]
    if absent:
        raise ModelNotFoundError(
            f"the tagging model {name!r} must have {', '.join(absent)}, and has not."
        )
    return tagger


def pos_bigrams(
    tagger: Any, texts: Sequence[str], max_characters: int = 5000
) -> list[TextPosBigrams]:
    """Tag the first *max_characters* of each text and return its distinct tag bigrams.

    Universal tags (NOUN, VERB, PUNCT …), tokens of white space left out; bigrams run across
    sentence ends, as in [1]_, which takes the text as one sequence.

    Parameters
    ----------
    tagger : spacy.Language
        From `load_tagger`.
    texts : sequence of str
    max_characters : int
        Characters read of each text, at least 1; a word that the limit cuts is tagged as what is
        left of it.

    Returns
    -------
    list of TextPosBigrams
        In the order of *texts*. A text of fewer than two tokens has no bigram.

    References
    ----------
    .. [1] *The Geometry of Creative Variability*, section 3.4.3.
    """
    heads = [text[:max_characters] for text in texts]
    results = []
    for text, document in zip(texts, tagger.pipe(heads, batch_size=BATCH_SIZE), strict=True):
        tags = [token.pos_ for token in document if not token.is_space]
        bigrams = sorted({f"{first} {second}" for first, second in pairwise(tags)})
        read = min(len(text), max_characters)
        results.append(TextPosBigrams(bigrams, read, len(text) - read))
    return results
