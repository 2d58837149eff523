"""What a study file says about generating stories: language models, strategies, how many, how long.

A name alone is a ready-made entry; anything else is a mapping.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from flows.language_models.errors import DecodingError, LanguageModelError
from flows.language_models.ready_made import (
    READY_MADE,
    DtypeChoice,
    EndpointServer,
    LanguageModelEntry,
    LogProbabilityDefinition,
    Quantization,
    TemplateChoice,
)
from flows.language_models.strategies import DecodingStrategy, strategy_named
from flows.strict_model import StrictModel

LARGEST_COUNT = 1_000_000
"""Of tokens and of samples; a study that asks for more has a zero too many."""


class LanguageModelChoice(StrictModel):
    """One language model of the study."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    weights: str | None = None
    """Hub id, folder, GGUF file or ``packaged:NAME``. None: as the ready-made entry of the name."""
    revision: str | None = None
    dtype: DtypeChoice = "auto"
    quantization: Quantization = "auto"
    template: TemplateChoice | None = None
    endpoint: str | None = Field(default=None, pattern=r"^https?://")
    endpoint_server: EndpointServer = "openai"
    log_probabilities: LogProbabilityDefinition | None = None
    """Whose log-probabilities the endpoint sends. None: as its server is known to do."""
    tokenizer: str | None = None
    is_optional: bool = False
    """Left out with a note, instead of an error, where its package is not installed."""

    @field_validator("endpoint")
    @classmethod
    def _is_address(cls, value: str | None) -> str | None:
        parts = urlsplit(value or "http://host")
        if not parts.hostname or " " in (value or "") or parts.port == 0:
            raise ValueError("must be http://HOST:PORT/v1 or https://HOST/v1")
        return value

    @model_validator(mode="after")
    def _says_what_counts(self) -> LanguageModelChoice:
        """Refuse what would be passed over: at an endpoint the server decides, here we do."""
        keys = (
            ("endpoint_server", "log_probabilities", "tokenizer")
            if self.endpoint is None
            else ("dtype", "quantization")
        )
        passed_over = [key for key in keys if key in self.model_fields_set]
        if passed_over:
            place = "without an endpoint" if self.endpoint is None else "at an endpoint"
            raise ValueError(f"{passed_over[0]} says nothing {place}")
        return self

    def entry(self) -> LanguageModelEntry:
        """Return it as the language models know it.

        Raises
        ------
        LanguageModelError
            It has neither weights nor the name of a ready-made entry.
        """
        ready = READY_MADE.get(self.name)
        weights = self.weights or (ready.weights if ready is not None else None)
        if weights is None:
            raise LanguageModelError(
                "a language model must have weights (with an endpoint, the name it is served by) "
                f"or be one of {', '.join(READY_MADE)}, got the name {self.name!r} alone."
            )
        default = ready.template if ready is not None and self.weights is None else "auto"
        return LanguageModelEntry(
            language_model_name=self.name,
            weights=weights,
            revision=self.revision,
            dtype=self.dtype,
            quantization=self.quantization,
            template=self.template or default,
            endpoint=self.endpoint,
            endpoint_server=self.endpoint_server,
            log_probabilities=self.log_probabilities,
            tokenizer=self.tokenizer,
        )


class StrategyChoice(StrictModel):
    """One decoding strategy of the study."""

    name: str = Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$")
    sampling_temperature: float = 1.0
    top_k: int | None = None
    nucleus_mass: float | None = None
    typical_mass: float | None = None

    def strategy(self) -> DecodingStrategy:
        """Return it as the language models know it; a name alone defines what it says.

        Raises
        ------
        DecodingError
            It is no strategy, or another one than its name says.
        """
        if self.model_fields_set == {"name"}:
            return strategy_named(self.name)
        chosen = DecodingStrategy(
            self.name,
            self.sampling_temperature,
            self.top_k,
            self.nucleus_mass,
            self.typical_mass,
        )
        try:
            named = strategy_named(self.name)
        except DecodingError:
            return chosen  # a name of the study's own
        if chosen != named:
            raise DecodingError(
                f"a decoding strategy called {self.name} must be what that name says and nothing "
                "else, got other parameters; give it a name of its own."
            )
        return chosen


class GenerationSettings(StrictModel):
    """How many stories of which length; what belongs to every story source alike."""

    prompt_count: int | None = Field(default=None, ge=4)
    """Prompts asked, the first of the selection by rank. None: all of them."""
    samples_per_prompt: int = Field(default=10, ge=1, le=LARGEST_COUNT)
    maximum_story_tokens: int = Field(default=256, ge=1, le=LARGEST_COUNT)
    seed: int = Field(default=20240, ge=-(2**63), lt=2**63)
    """With the rest of a sample's key it determines the sample's randomness."""
    stop_strings: tuple[str, ...] = ()

    @field_validator("stop_strings", mode="before")
    @classmethod
    def _listed(cls, value: Any) -> Any:
        return tuple(value) if isinstance(value, list) else value

    @field_validator("stop_strings")
    @classmethod
    def _not_empty(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        if "" in value:
            raise ValueError("a stop string must have a character")
        return value


def with_names_as_mappings(entries: Sequence[Any]) -> tuple[Any, ...]:
    """Return *entries* with a name alone written as the mapping it stands for."""
    return tuple({"name": entry} if isinstance(entry, str) else entry for entry in entries)
